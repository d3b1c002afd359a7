# SPDX-License-Identifier: GPL-2.0-or-later
# What leaves this tree: source tarball, Debian packages, static binary. docs/packages.md

RELEASE := nest-$(VERSION)
# Of the last commit: the same tree makes the same files.
EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),0)

##> dist         source tarball: build/nest-VERSION.tar.xz, with its checksum
.PHONY: dist deb test-deb test-units static
dist:
	@scripts/dist $(BUILD) $(RELEASE) $(EPOCH) '$(COMMIT)'

##> deb          Debian packages nest and nest-flow in build/deb, checked by lintian
deb: dist
	@scripts/setup build package
	@scripts/deb $(BUILD) $(RELEASE) $(EPOCH)

##> test-deb     install, upgrade, remove and purge the packages in a minimal root; compare with a second build (root)
test-deb: deb
	@scripts/setup distros
	@scripts/test-deb $(BUILD) $(RELEASE) $(EPOCH)

##> test-units   boot the packages in a machine with systemd and run debian/tests there (root)
test-units: deb
	@scripts/setup distros vm
	@scripts/test-units $(BUILD)

##> static       a program without shared libraries: build/nest-VERSION-linux-ARCH.tar.xz, with checksums and SBOM
static:
	@scripts/setup build static
	@scripts/static-libraries $(BUILD)/static
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/static STATIC=1 $(BUILD)/static/nest
	@scripts/static-tarball $(BUILD) $(RELEASE)-linux-$(MACHINE) $(EPOCH)
