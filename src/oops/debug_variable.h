/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which variables registers held, and members of structures, from DWARF. */
#pragma once

#include "oops/libdw.h"
#include "oops/oops.h"

/* The unit of the code at this address, and what addresses in it are shifted by; NULL: none. */
Dwarf_Die *debug_unit_find(Dwfl_Module *module, uint64_t address, Dwarf_Addr *ret_bias);
/* entry: address of the report's function in the module. */
void debug_variable_name(struct oops *oops, Dwfl_Module *module, uint64_t entry);
