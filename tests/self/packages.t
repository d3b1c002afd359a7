#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is written twice agrees: packages of the build in scripts/setup and in debian/control, names on other
# distributions, the version in its files. And what the Makefile refuses it refuses with a reason.
. "$(dirname "$0")/lib.sh"
cd "$root" || exit 1

build_packages() {
	scripts/setup --list | awk '$2 ~ /(^|,)build(,|$)/ { print $1 }' | sort -u
}
control_packages() {
	sed -n '/^Build-Depends:/,/^Standards-Version/s/^ \([a-z0-9.+-]*\).*/\1/p' debian/control
}
other_names() {
	awk '!/^#/ { print $1 }' scripts/distributions
}
# covers NAMES: the command prints every package of the build.
covers() {
	! comm -23 <(build_packages | grep -vxE "$2") <("$1" | sort -u) | grep .
}
refused() {
	! make -n ARCH=riscv64 >"$room/refused" 2>&1
}

# gcc and headers come with build-essential.
check 'debian/control names the packages of the build' covers control_packages 'gcc|libc6-dev|linux-libc-dev'
check 'scripts/distributions names them' covers other_names none
check 'each has a name on four distributions' awk '!/^#/ && NF != 5 { exit 1 }' scripts/distributions
version=$(cat VERSION)
check 'debian/changelog has the version' grep -q "^nest ($version) " debian/changelog
check 'CHANGELOG.md has a section of it' grep -qx "## $version" CHANGELOG.md
check 'an unknown architecture is refused' refused
check 'with the place to add it' grep -q registers.bpf.h "$room/refused"
finish
