// SPDX-License-Identifier: GPL-2.0-or-later
// A current ClickHouse engine (chdb, from npm) behind as much of ClickHouse's HTTP interface as nest uses:
//   node current-engine.js MODULES-DIRECTORY PORT-FILE
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");
const zlib = require("zlib");

const [modules, portFile] = process.argv.slice(2);
const { Session } = require(path.join(modules, "chdb"));
const session = new Session();

function run(url, body, encoding) {
	const settings = ["final"].filter((name) => url.searchParams.has(name));
	let sql = url.searchParams.get("query") || "";
	const data = encoding === "gzip" ? zlib.gunzipSync(body).toString() : body.toString();
	if (sql.startsWith("INSERT"))
		return session.query(sql + "\n" + data, "TabSeparated");
	sql = sql || data;
	if (url.searchParams.has("database"))
		session.query("USE " + url.searchParams.get("database"), "TabSeparated");
	if (settings.length)
		sql += " SETTINGS " + settings.map((name) => name + " = " + url.searchParams.get(name)).join(", ");
	return session.query(sql, url.searchParams.get("default_format") || "TabSeparated");
}

const server = http.createServer((request, response) => {
	const pieces = [];
	request.on("data", (piece) => pieces.push(piece));
	request.on("end", () => {
		try {
			const url = new URL(request.url, "http://localhost");
			const answer = run(url, Buffer.concat(pieces), request.headers["content-encoding"]);
			response.end(answer || "");
		} catch (error) {
			response.statusCode = 400;
			response.end(String(error.message || error));
		}
	});
});
server.listen(0, "127.0.0.1", () => fs.writeFileSync(portFile, String(server.address().port)));
