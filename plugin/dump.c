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

#include "../lib/md_layout/parity.h"
#include "params.h"

void
dump_plugin (const char *self_check_error)
{
  struct nbd_handle *h = nbd_create ();

  printf ("uraid_levels=4 5 6\n");
  printf ("uraid_metadata=1.0 1.1 1.2\n");
  printf ("uraid_isal_version=%s\n", parity_library_version ());
  printf ("uraid_parity_kernels=%s\n", parity_kernels ());
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
