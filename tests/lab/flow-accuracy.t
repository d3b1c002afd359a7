#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# One fault and one healthy mix from server to score, with an oracle and a liar in place of the comparison.
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import harness

ACCURACY = os.path.join(harness.ROOT, "lab", "flow-accuracy")
STUB = os.path.join(harness.ROOT, "lab", "flows", "flow_stub.py")
NEST = os.path.join(harness.BUILD, "nest")
FAULT, MIX = "pool.slow.2of20.1", "pool.post.0of20.1"


def accuracy(room, *words, **environment):
    done = subprocess.run([ACCURACY, "--out", f"{room}/out", "--servers", f"{room}/servers", *words],
                          capture_output=True, text=True, env={**os.environ, **environment}, timeout=200, check=False)
    return done.returncode, done.stdout + done.stderr


def result(room):
    with open(f"{room}/out/flow-accuracy.json", encoding="utf-8") as f:
        return json.load(f)


def read(room, case, name):
    with open(f"{room}/out/{case}/{name}", encoding="utf-8") as f:
        return json.load(f)


def shares(total):
    return [total[name]["right"] for name in ("right", "exact", "labelled", "healthy_named")]


def main():
    tap = harness.Tap()
    with tempfile.TemporaryDirectory() as room:
        subprocess.run([f"{harness.ROOT}/lab/servers/build", f"{room}/servers", "small", "hooks"], check=True)
        status, said = accuracy(room, "--nest", NEST, "--keep", "--only", f"{FAULT},{MIX}")
        tap.ok(status == 0 and "2 recordings" in said, "two recordings are made and scored",
               "" if status == 0 else said[-500:].replace("\n", " / "))
        truth, answer = read(room, FAULT, "truth.json"), read(room, FAULT, "answer.json")
        tap.equal((truth["clients"], len(truth["bad"]), truth["failed"], answer["bad_seen"]), (20, 2, 0, 2),
                  "20 clients, 2 of them bad, in the trace")
        tap.equal(result(room)["invalid"], [], "the fault was felt")
        accuracy(room, "--again", f"{room}/out", "--nest", STUB, FLOW_STUB="oracle", FLOW_NEST=NEST)
        tap.equal(shares(result(room)["total"]), [1, 1, 1, 0], "an oracle about the same traces is right")
        accuracy(room, "--again", f"{room}/out", "--nest", STUB, FLOW_STUB="liar", FLOW_NEST=NEST)
        tap.equal(shares(result(room)["total"]), [0, 0, 0, 1], "a liar is not")
        known, apart = (set(accuracy(room, "--list", *words)[1].split()) for words in ([], ["--apart"]))
        tap.ok(FAULT in known and FAULT not in apart and not known & apart,
               "what is kept apart is listed only if asked")
        status, said = accuracy(room, "--only", "nobody.*")
        tap.ok(status != 0 and "no recording matches 'nobody.*'" in said, "an unknown recording is refused")
    tap.done()


main()
