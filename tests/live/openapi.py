# SPDX-License-Identifier: GPL-2.0-or-later
# The answers of nest serve beside the schemas of its own OpenAPI document.
#
#   openapi.py URL TOKEN CASES [RECORDING TRACE NEST]
#
# CASES: a file with lines "METHOD TARGET [BODY]", asked in this order; ID in a target is that of the last run. Then
# every parameter of every path with hostile values: any answer must be below 500, and of the schema that it claims.
# With RECORDING, TRACE and NEST, figures of pictures are compared with what nest path --json and nest flow sessions
# --json say. Prints "ok NAME" or "not ok NAME" lines, and which paths had no case.
import json, re, subprocess, sys, urllib.error, urllib.parse, urllib.request

url, token, cases = sys.argv[1].rstrip("/"), sys.argv[2], open(sys.argv[3]).read().splitlines()


def check(name, holds, said=""):
    print("ok" if holds else "not ok", name, "" if holds else str(said)[:300])


def ask(method, target, body=None):
    request = urllib.request.Request(url + target, body.encode() if body else None, method=method, headers={
        "Authorization": "Bearer " + token, "Origin": url, "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers.get_content_type(), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get_content_type(), error.read()


def first_event(target):
    """The first record of a stream."""
    request = urllib.request.Request(url + target, headers={"Authorization": "Bearer " + token})
    with urllib.request.urlopen(request, timeout=60) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                return json.loads(line[6:])


document = json.loads(ask("GET", "/api/v1/openapi.json")[2])

# --- schemas

SAID = {"description", "x-unit", "format"}
KNOWN = SAID | {"$ref", "type", "nullable", "properties", "required", "additionalProperties", "items", "anyOf",
                "maxItems"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def faults(value, schema, where="answer"):
    """What is wrong with a value, as sentences; nothing that the schema says is ignored."""
    if "$ref" in schema:
        return faults(value, document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], where)
    if set(schema) - KNOWN:
        return ["%s: keywords %s" % (where, sorted(set(schema) - KNOWN))]
    if value is None and schema.get("nullable"):
        return []
    if "anyOf" in schema:
        tried = [faults(value, one, where) for one in schema["anyOf"]]
        if all(tried):
            return ["%s: none of %d fit: %s" % (where, len(tried), min(tried, key=len))]
        return []
    wanted = TYPES.get(schema.get("type"), object)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool and wanted is not object):
        return ["%s: %r is no %s" % (where, value, schema.get("type"))]
    found = []
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += ["%s: %s is missing" % (where, name) for name in schema.get("required", []) if name not in value]
        for name, inner in value.items():
            if name in properties:
                found += faults(inner, properties[name], where + "." + name)
            elif schema.get("additionalProperties") is False:
                found.append("%s: %s is not in the schema" % (where, name))
    if isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            found.append("%s: %d items" % (where, len(value)))
        for i, inner in enumerate(value):
            found += faults(inner, schema.get("items", {}), "%s[%d]" % (where, i))
            if len(found) > 5:
                break
    return found


def operation_of(method, path):
    for pattern, operations in document["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", pattern), path) and method.lower() in operations:
            if "{" not in pattern or path not in document["paths"]:
                return pattern, operations[method.lower()]
    return None, None


def answer_faults(operation, status, kind, body):
    said = operation["responses"].get(str(status)) or operation["responses"]["default"]
    content = said.get("content", {})
    if not content:
        return ["a body of %d bytes" % len(body)] if body else []
    if kind not in content and "application/octet-stream" not in content:
        return ["%s, not %s" % (kind, sorted(content))]
    if kind != "application/json" or "schema" not in content.get(kind, {}):
        return []
    return faults(json.loads(body), content[kind]["schema"])


# The checker itself: a test that accepts everything is none.
one = {"type": "object", "required": ["a"], "additionalProperties": False,
       "properties": {"a": {"type": "integer", "nullable": True}, "b": {"type": "array", "items": {"type": "string"}}}}
refused = ({}, {"a": "x"}, {"a": 1.5}, {"a": True}, {"a": 1, "c": 1}, {"a": 1, "b": [1]}, [])
check("the checker accepts and refuses", not faults({"a": None, "b": ["x"]}, one)
      and all(faults(wrong, one) for wrong in refused))

# --- cases

used, run, answers = set(), "0", {}
for case in cases:
    method, target, *body = case.split(" ", 2)
    target = target.replace("ID", run)
    pattern, operation = operation_of(method, target.split("?")[0])
    if not operation:
        check("%s %s is in the document" % (method, target), False)
        continue
    used.add((method, pattern))
    status, kind, content = ask(method, target, *body)
    wrong = answer_faults(operation, status, kind, content)
    fine = str(status) in operation["responses"] and not wrong
    check("%s %s" % (method, target), fine, "%d %s %s" % (status, wrong, content[:200]))
    if status == 201 and target.startswith("/api/v1/runs?") or target == "/api/v1/runs" and method == "POST":
        run = json.loads(content).get("id", "0")
    if kind == "application/json" and content:
        answers[target] = json.loads(content)

# Streams carry records of the same types.
streams = {"diagnosis": "diagnosis", "path": "path_picture"}
for what, name in streams.items():
    if answers.get("/api/v1/about", {}).get("live"):
        record = first_event("/api/v1/stream?what=" + what)
        wrong = faults(record, {"$ref": "#/components/schemas/" + name})
        check("stream %s" % what, not wrong, wrong)

# --- hostile parameters

hostile = ["", "-1", "0", "1e3", "99999999999999999999", "\u00e9" * 50, "a" * 3000, "../../etc/passwd",
           "' or 1=1 --", "--help", "-x", "\0", "%", "a\nb", "<script>", "session == ", "rport == 443", "{}"]
count, bad = 0, []
for pattern, operations in document["paths"].items():
    for method, operation in operations.items():
        # These change something, or do not end.
        if method != "get" or pattern == "/api/v1/stream":
            continue
        for parameter in operation["parameters"]:
            # Each of these starts a process: some of the values.
            slow = "explain" in pattern or "/flow/" in pattern or pattern.endswith("/path")
            for value in hostile[6::3] if slow else hostile:
                quoted = urllib.parse.quote(value, safe="")
                target = re.sub(r"\{\w+\}", quoted or "x" if parameter["in"] == "path" else "sockets", pattern)
                if parameter["in"] == "query":
                    target += "?%s=%s" % (parameter["name"], quoted)
                    needed = [p["name"] for p in operation["parameters"]
                              if p["required"] and p["in"] == "query" and p["name"] != parameter["name"]]
                    target += "".join("&%s=sockets" % name for name in needed)
                status, kind, content = ask("GET", target)
                count += 1
                wrong = answer_faults(operation, status, kind, content)
                # libmicrohttpd 1.0.10 refuses these itself.
                if (status, kind) == (400, "text/plain") and "%00" in target.partition("?")[0]:
                    wrong = []
                if not 200 <= status < 500 or wrong:
                    bad.append("%d %s %s" % (status, target[:120], wrong))
check("hostile parameters: answers below 500, of their schema", not bad and count > 200, bad[:3] or count)

# --- figures of pictures


def lines_of(*words):
    said = subprocess.run([sys.argv[6], *words], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in said.splitlines()]


if len(sys.argv) > 6:
    recording, trace = sys.argv[4], sys.argv[5]
    journeys = lines_of("path", "-f", recording, "--json")
    picture = json.loads(ask("GET", "/api/v1/path")[2])
    check("all journeys", picture["journeys"] == len(journeys), picture["journeys"])
    slowest = sorted((j["total_ns"] for j in journeys), reverse=True)
    check("the slowest ones", [j["total_ns"] for j in picture["slowest"]] == slowest[:10])
    check("whose stages add up", all(sum(s["ns"] for s in j["stages"]) == j["total_ns"] for j in picture["slowest"]))
    stages = {}
    for journey in journeys:
        for stage in journey["stages"]:
            stages.setdefault((journey["dir"], stage["stage"]), []).append(stage["ns"])
    maps = {(m["dir"], m["stage"]): sum(m["count"]) for m in picture["maps"]}
    check("every stage of every journey is in a map", maps == {key: len(list_) for key, list_ in stages.items()})
    rows = {(direction, row["stage"]): row for direction, group in zip(("rx", "tx"), picture["groups"])
            for row in group["rows"]}
    check("maxima of stages", all(rows[key]["max_ns"] == max(list_) for key, list_ in stages.items()))
    check("counts of stages", all(rows[key]["count"] == len(list_) for key, list_ in stages.items()))

    sessions = lines_of("flow", "sessions", trace, "--json")
    check("all sessions", json.loads(ask("GET", "/api/v1/flow/sessions")[2])["rows"] == sessions)
    for number in (1, 10):
        d = json.loads(ask("GET", "/api/v1/flow/diagram?session=%d" % number)[2])
        calls, loops = 0, [1]
        for kind, times, folded in zip(d["kind"], d["times"], d["folded"]):
            if kind == 2:
                loops.append(loops[-1] * times)
            elif kind == 3:
                loops.pop()
            elif kind == 0:
                calls += loops[-1] * (1 + folded)
        check("calls of session %d" % number, calls + d["left_out"] == sessions[number - 1]["calls"],
              (calls, sessions[number - 1]["calls"]))
    flame = json.loads(ask("GET", "/api/v1/flow/flame?session=10")[2])
    inside = [0] * len(flame["parent"])
    for i, parent in enumerate(flame["parent"]):
        if parent != i:
            inside[parent] += flame["value"][i]
    check("no box is wider than the one below it", all(a <= b for a, b in zip(inside, flame["value"])))
    only = sum(c for c, name in zip(flame["count"], flame["name"]) if flame["names"][name] == "recv")
    diagram = json.loads(ask("GET", "/api/v1/flow/diagram?session=10")[2])
    named = [kind for kind, label in zip(diagram["kind"], diagram["label"]) if diagram["labels"][label] == "recv"]
    recv = named.count(0)
    check("calls of recv in the flame graph and in the diagram", only == recv, (only, recv))

untried = [(m.upper(), p) for p, o in document["paths"].items() for m in o if (m.upper(), p) not in used]
print("untried", json.dumps(sorted(untried)))
