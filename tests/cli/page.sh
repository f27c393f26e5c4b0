#!/bin/bash
# page.sh - the page of confine check --html in a real browser, at the width of a desk and of a telephone.
. "$(dirname "$0")/tap.sh"
browser=$(command -v chromium) || { skip 'the page in a browser' 'no chromium'; finish; }
show() { timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --host-resolver-rules='MAP * ~NOTFOUND' \
    --user-data-dir="$dir/profile" "$@" 2>"$dir/said"; }
echo '<p>it works</p>' >"$dir/plain.html"
show --dump-dom "file://$dir/plain.html" >"$dir/out"
if ! grep -q 'it works' "$dir/out"; then
    skip 'the page in a browser' "chromium does not start here: $(tail -n 1 "$dir/said" | head -c 120)"
    finish
fi

call "$confine" check --all --only '[FT]*-*' -q --html "$dir/page.html"
[ "$status" -eq 0 ] && [ -s "$dir/page.html" ]
result $? 'a page is written'
# What the browser makes of it, in a frame of that width and in a copy that measures itself.
python3 - "$dir" <<'P'
import html, sys
page = open(sys.argv[1] + '/page.html', encoding='utf-8').read()
measure = """<script>
const root = document.documentElement, rows = [...document.querySelectorAll("tbody tr")], before = root.scrollHeight;
const seen = e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0; };
const light = c => { const v = c.map(x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
const contrast = e => { let opaque = 1; for (let p = e; p; p = p.parentElement) opaque *= getComputedStyle(p).opacity;
    const c = getComputedStyle(e).color.match(/[0-9.]+/g).slice(0, 3).map(x => x * opaque + 255 * (1 - opaque));
    return 1.05 / (light(c) + 0.05); };
document.querySelectorAll("details").forEach(d => d.open = true);
parent.document.title = JSON.stringify({width: root.clientWidth, scroll: root.scrollWidth,
    beside: Math.max(...[...document.querySelectorAll(".wide")].map(e => e.scrollWidth - e.clientWidth)), rows: rows.length,
    shown: rows.filter(seen).length, tables: document.querySelectorAll("table").length,
    size: Math.min(...[...document.querySelectorAll("p, td, th, summary")].map(e => parseFloat(getComputedStyle(e).fontSize))),
    contrast: Math.min(...[...document.querySelectorAll("td, p")].map(contrast)), opens: root.scrollHeight > before,
    heads: document.querySelectorAll("th[scope]").length, language: root.lang});
</script>"""
for width in (1280, 390):
    with open(f'{sys.argv[1]}/frame-{width}.html', 'w', encoding='utf-8') as out:
        out.write('<!doctype html><title>nothing</title><body style="margin: 0"><iframe style="border: 0; height: 900px; width: '
                  f'{width}px" srcdoc="{html.escape(page.replace("</body>", measure + "</body>"))}"></iframe>')
P
holds() {
    python3 -c 'import html, json, re, sys
m = json.loads(html.unescape(re.search("<title>(.*?)</title>", open(sys.argv[1], encoding="utf-8").read()).group(1)))
if not eval(sys.argv[2]):
    sys.exit("not true: %s; %s" % (sys.argv[2], m))' "$dir/out" "$1" 2>>"$dir/why"
}
for width in 1280 390; do
    show --window-size=1300,950 --dump-dom "file://$dir/frame-$width.html" >"$dir/out"
    holds "m['scroll'] <= m['width'] <= $width and m['beside'] <= 0"
    result $? "$width wide: nothing is to be scrolled sideways, a table neither"
    holds "m['rows'] > 80 and m['shown'] == m['rows'] and m['tables'] == 2 and m['heads'] > m['rows'] and m['language'] == 'en'"
    result $? "$width wide: every row is to be seen, and has its heading"
    holds "m['size'] >= 14 and m['contrast'] >= 4.5 and m['opens']"
    result $? "$width wide: large and dark enough to be read, and what is folded opens"
    show --window-size=$width,900 --screenshot="$dir/shot.png" "file://$dir/page.html" >/dev/null
    python3 - "$dir/shot.png" "$width" <<'P' 2>>"$dir/why"
import struct, sys, zlib
data = open(sys.argv[1], 'rb').read()
width, height = struct.unpack('>II', data[16:24])
pixels, at = b'', 8
while at < len(data):
    length, kind = struct.unpack('>I4s', data[at:at + 8])
    pixels += data[at + 8:at + 8 + length] if kind == b'IDAT' else b''
    at += 12 + length
if width != int(sys.argv[2]) or len(set(zlib.decompress(pixels))) < 20:
    sys.exit(f'a picture of {width}x{height} with nothing on it')
P
    result $? "$width wide: something is drawn"
done
show --dump-dom "file://$dir/page.html" >"$dir/out"
[ "$(grep -o '<tr>' "$dir/out" | wc -l)" -eq "$(grep -o '<tr>' "$dir/page.html" | wc -l)" ] && ! grep -qi '<script\|<link\|<img' "$dir/out"
result $? 'the browser adds and misses nothing'
finish
