# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Pages in a real browser, for tests that have sourced lib.sh. Nothing is fetched: Chromium's own requests are off.

# page_try PAGE SCRIPT: runs the script on the page when it has loaded; what it returns, and every
# error of the page, is in $got.
page_try() {
	python3 - "$1" "$2" >"$room/page.html" <<'PYTHON'
import sys
page = open(sys.argv[1]).read()
catcher = '<script>window.faults=[];window.onerror=(m)=>{faults.push(m)};</script>'
probe = ('<script>window.addEventListener("load",()=>{let r;try{r=(()=>{' + sys.argv[2] + '})()}catch(e){r="fault: "+e}'
         'const p=document.createElement("pre");p.id="answer";p.textContent=[r].concat(faults).join(" ");'
         'document.body.append(p)});</script>')
print(page.replace('<head>', '<head>' + catcher, 1).replace('</body>', probe + '</body>'))
PYTHON
	timeout 60 chromium \
		--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync --user-data-dir="$room/browser" \
		--window-size=1200,800 --dump-dom "file://$room/page.html" >"$room/dom" 2>"$room/browser.log"
	# shellcheck disable=SC2034 # for the caller
	got=$(sed -n 's/.*<pre id="answer">\([^<]*\)<.*/\1/p' "$room/dom")
}
