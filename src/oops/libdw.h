/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libdw and what it needs (bzip2, xz, zstd) are loaded only for --debug: 2 MB that no other run of nest needs. Its
 * functions are called through libdw.NAME.
 */
#pragma once

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include "base/why.h"

#define LIBDW_FUNCTIONS(x)                                                                                             \
	x(dwfl_begin) x(dwfl_end) x(dwfl_report_begin) x(dwfl_report_offline) x(dwfl_report_end) x(dwfl_getmodules)    \
		x(dwfl_errmsg) x(dwfl_module_info) x(dwfl_module_getsymtab) x(dwfl_module_getsym_info)                 \
			x(dwfl_module_getdwarf) x(dwfl_module_addrdie) x(dwfl_module_nextcu) x(dwarf_haspc)            \
				x(dwarf_getsrc_die) x(dwarf_linesrc) x(dwarf_lineno) x(dwarf_getscopes) x(dwarf_child) \
					x(dwarf_siblingof) x(dwarf_tag) x(dwarf_diename) x(dwarf_attr_integrate)       \
						x(dwarf_getlocation_addr) x(dwarf_formref_die) x(dwarf_formudata)      \
							x(dwarf_formstring) x(dwarf_dieoffset) x(dwarf_offdie)         \
								x(dwarf_aggregate_size)                                \
									x(dwfl_standard_find_debuginfo)                \
										x(dwfl_offline_section_address)        \
											x(dwfl_linux_proc_find_elf)

#define LIBDW_MEMBER(name) typeof(name) *name;
extern struct libdw {
	LIBDW_FUNCTIONS(LIBDW_MEMBER)
} libdw;
#undef LIBDW_MEMBER

int libdw_load(struct why *why) _must_check_;
