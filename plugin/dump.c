/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * nbdkit uraid --dump-plugin: what this build can do on this machine, as
 * key=value lines that scripts read.  The manual page explains each.
 */
#include <config.h>

#include "dump.h"

#include <stdio.h>

#include <libnbd.h>

#include "params.h"

/* The instructions ISA-L picks for parity.  It decides by CPUID and does not
 * tell, so its rule is repeated here.
 */
const char *
dump_parity_kernel (void)
{
#if defined(__x86_64__)
  __builtin_cpu_init ();
  if (__builtin_cpu_supports ("avx512f") &&
      __builtin_cpu_supports ("avx512bw") &&
      __builtin_cpu_supports ("avx512vl") &&
      __builtin_cpu_supports ("avx512cd") &&
      __builtin_cpu_supports ("avx512dq"))
    return "avx512";
  if (__builtin_cpu_supports ("avx2"))
    return "avx2";
  if (__builtin_cpu_supports ("avx"))
    return "avx";
  return "sse";
#elif defined(__aarch64__)
  return "neon";
#else
  return "base";
#endif
}

void
dump_plugin (const char *self_check_error)
{
  struct nbd_handle *h = nbd_create ();

  printf ("uraid_levels=4 5 6\n");
  printf ("uraid_metadata=1.0 1.1 1.2\n");
#ifdef ISAL_VERSION
  printf ("uraid_isal_version=%s\n", ISAL_VERSION);
#endif
  printf ("uraid_isal_kernel=%s\n", dump_parity_kernel ());
  printf ("uraid_parity_self_check=%s\n",
          self_check_error == NULL ? "ok" : self_check_error);
  if (h != NULL) {
    printf ("libnbd_version=%s\n", nbd_get_version (h));
    printf ("libnbd_tls=%d\n", nbd_supports_tls (h) == 1);
    printf ("libnbd_uri=%d\n", nbd_supports_uri (h) == 1);
  }
  nbd_close (h);
  params_dump ();
}
