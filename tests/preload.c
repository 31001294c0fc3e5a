/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) the uraid authors
 *
 * A library that sanitizer builds load into nbdkit beside the sanitizer's own.
 * No state, no threads.
 *
 * With AddressSanitizer or ThreadSanitizer in the process, glibc 2.36 can
 * leave its locale lock unbalanced after strerror or gettext: it takes no
 * locks while it believes the process to have one thread, and comes to believe
 * otherwise between lock and unlock.  libp11-kit, which nbdkit loads by way of
 * GnuTLS, frees a locale when the process ends, and then waits for that lock
 * for ever. Every nbdkit that ends after an error message would hang.  So
 * locales are not freed.
 */

#include <config.h>

#include <locale.h>

void
freelocale (locale_t dataset)
{
  (void)dataset;
}
