# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
# PostgreSQL, a process per connection: postgres-hooks/bin/postgres, and postgres-hooks/data, a cluster to copy that has
# the tables of lab/servers/postgres.sql.
build_postgres() {
	local flavour=$1 to=$top/postgres-hooks part
	[ "$flavour" = hooks ] || return 0
	if ! [ -x "$to/bin/initdb" ]; then
		echo "servers: postgres ($flavour)"
		fetch postgresql-15
		build_copy postgresql-15 "$flavour"
		# The laboratory runs as root, which PostgreSQL refuses: these two tests decide that.
		sed -i 's/geteuid() == 0/0/' src/backend/main/main.c src/bin/initdb/initdb.c
		# The hook of a return is no call of exit(), which its library must not make.
		sed -i 's/grep -v __cxa_atexit/grep -v func_exit/' src/interfaces/libpq/Makefile
		# Inline functions of headers are left out: they are most calls (list_length, pg_atomic_read_u32).
		CFLAGS="-O1 -g -w $(flags_of "$flavour") -finstrument-functions-exclude-file-list=src/include/" \
			./configure --prefix="$to" --without-readline --without-zlib --disable-rpath \
			--with-system-tzdata=/usr/share/zoneinfo >>"$log" 2>&1 ||
			die "cannot configure postgres; see $log"
		make -C src/backend generated-headers >>"$log" 2>&1 || die "cannot build postgres; see $log"
		for part in common port backend timezone backend/snowball pl/plpgsql/src interfaces/libpq bin/initdb; do
			make -j2 -C "src/$part" install >>"$log" 2>&1 || die "cannot build postgres; see $log"
		done
		# initdb needs a current directory.
		cd "$top" || die "no directory $top"
		rm -rf "$top/work-postgresql-15-$flavour"
	fi
	[ "$to/data" -nt "$here/postgres.sql" ] && return
	rm -rf "$to/data"
	"$to/bin/initdb" -D "$to/data" -U lab -A trust -E UTF8 --locale=C --wal-segsize=1 --no-sync >>"$log" 2>&1 ||
		die "cannot make a cluster of postgres; see $log"
	"$to/bin/postgres" --single -j -c max_prepared_transactions=32 -c min_wal_size=2MB -c max_wal_size=2MB \
		-D "$to/data" postgres <"$here/postgres.sql" >>"$log" 2>&1 ||
		die "cannot fill the cluster of postgres; see $log"
	touch "$to/data"
}
