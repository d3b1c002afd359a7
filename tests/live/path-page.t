#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page and the picture that nest path writes, in a real browser, from journeys that were made by hand.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/browser.sh"
require_cmd python3 chromium gunzip

gunzip -c "$root_dir/tests/golden/input/path.nest.gz" >"$room/path.nest" || exit 1
"$nest" path -f "$room/path.nest" --html "$room/path.page" 2>/dev/null
"$nest" path -f "$room/path.nest" --where 'total > 1s' --html "$room/empty.page" 2>/dev/null
"$nest" path -f "$room/path.nest" --where 'comm ~ "*script*"' \
	--html "$room/hostile.page" --svg "$room/hostile.svg" 2>/dev/null

# A browser takes seconds to start: what is looked at on one page is looked at in one go.
export TZ=Asia/Tokyo
page_try "$room/path.page" 'const all=s=>[...document.querySelectorAll(s)], reported=[];
	const one=s=>document.querySelector(s), text=s=>one(s).textContent;
	reported.push(all("#list button").length + " " + all("#way tr").length + " " + text("#way .words"));
	const bars=all("#way .bar").map(b=>b.getBoundingClientRect()), way=one(".way").getBoundingClientRect();
	reported.push(bars.every(b=>b.left>=way.left-1) + " " + (way.width>300) + " " + (bars[4].width>0.95*way.width));
	all("#list button")[3].click();
	reported.push(document.body.dataset.shown + " " + text("#way .wide td"));
	document.dispatchEvent(new KeyboardEvent("keydown",{key:"ArrowRight"}));
	reported.push(document.body.dataset.shown);
	const drawn=c=>c.getContext("2d").getImageData(0,0,c.width,c.height).data.some((v,i)=>i%4===3&&v>0);
	reported.push(all("canvas").length + " " + all("canvas").every(drawn) + " " + all("#groups table").length);
	reported.push(all("#groups tr").find(t=>t.textContent.startsWith("irq")).textContent);
	reported.push(text("#heading") + ", " + all("#groups .wide td:nth-child(8)").map(t=>t.textContent).join(" "));
	all("#list button")[4].focus();
	document.activeElement.dispatchEvent(new KeyboardEvent("keydown",{key:"ArrowLeft",bubbles:true}));
	reported.push(all("#list button").indexOf(document.activeElement) + " " + document.body.dataset.shown);
	reported.push(text("#note") + ", " + text("#axis span"));
	return reported.join("|")'
IFS='|' read -r slowest bars click key maps unseen tail focus note <<<"$got"
is "$slowest" '10 8 reader waited 4.61 ms for a CPU: 3 runnable tasks ahead' \
	'the slowest journeys, the first as a waterfall'
is "$bars" 'true true true' 'bars lie where the time went'
is "$click" '3 qdisc' 'a click shows another journey'
is "$key" 4 'so does a key'
is "$maps" '13 true 2' 'a heat map with something in it for each stage, a table for each direction'
is "$unseen" 'irq-------not visible' 'what could not be seen is not a zero'
is "$tail" 'The slowest 10 of 240 journeys, 100 % 100 %' \
	'how many are drawn; the stage behind the tail, with its share'
is "$focus" '3 3' 'a key takes the focus along'
# The browser of this test lives elsewhere.
is "$note" '240 journeys from 2026-11-15 02:13:07 to 02:13:12 +0000; 3 were lost, 02:13:06.993' \
	'it says when that was, on the clock of the host'
is "$(cat "$room/path.page" "$room/hostile.svg" |
	grep -oE 'https?://[^"]*|url\(|@import|fetch\(|XMLHttp|<link|<img|src=' | sort -u)" \
	'http://www.w3.org/2000/svg' 'nothing is fetched: the only address is the name of SVG'
page_try "$room/empty.page" \
	'return document.getElementById("note").textContent + " " + document.getElementById("ways").hidden'
like "$got" '^No journeys seen\. 0 journeys; where .total .* 1s.* true$' 'a page without journeys says so'
page_try "$room/hostile.page" \
	'return document.scripts.length + " " + document.querySelector("#way p").textContent.includes("</scr"+"ipt>")'
# Two of them are the test's own.
is "$got" '3 true' 'a name cannot end the script'
printf '<!doctype html><html><head></head><body><div>%s</div></body></html>' \
	"$(cat "$room/hostile.svg")" >"$room/svg.page"
page_try "$room/svg.page" 'const s=document.querySelector("svg");
	return s.querySelectorAll("rect").length>20 && s.querySelectorAll("script").length===0'
is "$got" true 'the picture draws, and a name is only text in it'
finish
