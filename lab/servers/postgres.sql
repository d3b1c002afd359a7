-- SPDX-License-Identifier: GPL-2.0-or-later
-- Tables of the server postgres. Read by "postgres --single -j": a statement ends with a semicolon and an empty line.

-- What most clients read.
CREATE TABLE page (id int PRIMARY KEY, body text NOT NULL);

INSERT INTO page SELECT g, repeat('x', 700) FROM generate_series(1, 200) g;

CREATE TABLE archive (line text NOT NULL);

INSERT INTO archive SELECT repeat('a', 1000) FROM generate_series(1, 6300);

CREATE TABLE note (id serial PRIMARY KEY, body text NOT NULL);

-- An index on names: of use for a prefix, of none for a suffix.
CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, mark text NOT NULL);

INSERT INTO item SELECT g, 'item' || lpad(g::text, 6, '0'), md5(g::text) FROM generate_series(1, 100000) g;

CREATE INDEX item_name ON item (name);

CREATE TABLE stock (id int PRIMARY KEY, pieces int NOT NULL);

INSERT INTO stock SELECT g, 1000 FROM generate_series(1, 1000) g;

CREATE TABLE part (id int PRIMARY KEY, of int NOT NULL);

INSERT INTO part SELECT g, g / 2 FROM generate_series(1, 50) g;

-- Two tables that are referred to: by an indexed column, and by one without an index.
CREATE TABLE shelf (id int PRIMARY KEY);

CREATE TABLE aisle (id int PRIMARY KEY);

CREATE TABLE jar (id int PRIMARY KEY, shelf int REFERENCES shelf);

CREATE TABLE box (id int PRIMARY KEY, aisle int REFERENCES aisle);

INSERT INTO shelf SELECT generate_series(1, 20000);

INSERT INTO aisle SELECT generate_series(1, 20000);

INSERT INTO jar SELECT g, g % 100 + 1 FROM generate_series(1, 100000) g;

INSERT INTO box SELECT g, g % 100 + 1 FROM generate_series(1, 100000) g;

CREATE INDEX jar_shelf ON jar (shelf);

CREATE TABLE ledger (id serial PRIMARY KEY, amount int NOT NULL);

CREATE PROCEDURE book(count int, each bool) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..count LOOP
		INSERT INTO ledger (amount) VALUES (i);
		IF each THEN
			COMMIT;
		END IF;
	END LOOP;
END $$;

-- Two queues. What was taken from the second one cannot be removed: a prepared transaction, begun before, is forgotten.
CREATE TABLE job (id int PRIMARY KEY, what text NOT NULL);

CREATE TABLE mail (id int PRIMARY KEY, what text NOT NULL);

INSERT INTO job SELECT g, 'job' FROM generate_series(1, 1000) g;

INSERT INTO mail SELECT g, 'mail' FROM generate_series(1, 150000) g;

VACUUM (ANALYZE, FREEZE);

BEGIN;

INSERT INTO note (body) VALUES ('in doubt');

PREPARE TRANSACTION 'forgotten';

DELETE FROM mail WHERE id <= 149000;

CHECKPOINT;
