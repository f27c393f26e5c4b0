#!/bin/bash
# convert.sh - settings of other sandboxes as a policy, which can be used, and what is said of the rest. A TAP program.
. "$(dirname "$0")/tap.sh"
mkdir project && cd project || exit 1

cat >full.json <<'EOF'
{"network": {"allowedDomains": ["example.org", "*.example.com:8443", "10.0.0.1:5432", "1.2.3.4", "*"], "deniedDomains": ["bad.example.com"],
             "allowUnixSockets": ["/run/x.sock"], "allowAllUnixSockets": true, "allowLocalBinding": false, "somethingNew": 1},
 "filesystem": {"denyRead": ["~/.ssh", "**/build"], "allowRead": [], "allowWrite": [".", "src/**", "/tmp", "/var/data/"], "denyWrite": [".env", "./conf/x"]},
 "credentials": {"files": [{"path": "~/.netrc", "mode": "mask"}], "envVars": [{"name": "MY_TOKEN", "mode": "deny"}]},
 "enableWeakerNestedSandbox": true, "unknown": {"a": 1}}
EOF
"$confine" policy --from-srt full.json >out.json 2>notes
result $? "settings with everything"
python3 - "$PWD" <<'EOF' 2>$dir/why
import json, sys
here, policy = sys.argv[1], json.load(open('out.json'))
optional = lambda *paths: [{'path': path, 'optional': True} for path in paths]
assert policy == {
    'policy': 1, 'mode': 'workspace-write', 'workspace': here, 'write': optional(here + '/src', '/var/data'),
    'network': {'mode': 'listed', 'allow': ['example.org', '*.example.com:8443', '10.0.0.1:5432']},
    'sockets': optional('/run/x.sock'), 'hide': optional('~/.ssh', '~/.netrc'), 'protect': optional(here + '/.env', here + '/conf/x'),
    'environment': {'unset': ['MY_TOKEN']}}, policy
EOF
result $? "each becomes one of ours"
missing=
for text in 'network.allowedDomains: 1.2.3.4 is left out' 'allowedDomains: "\*" is left out' 'deniedDomains: WIDER: bad.example.com' \
    'allowAllUnixSockets' '"\*\*/build" is a pattern' '/tmp is left out' 'there is no mask here' 'network.somethingNew: has no equal' \
    'unknown: has no equal' 'enableWeakerNestedSandbox' 'relative paths were taken from' 'example.org allows the ports 443 and 80'; do
    grep -q -- "$text" notes || missing="$missing [$text]"
done
[ -z "$missing" ]
result $? "what has no equal is said$missing"
grep -q allowLocalBinding notes
[ $? -eq 1 ]
result $? "what says nothing there is not said"
chmod go-w out.json
"$confine" policy --policy ./out.json --json >effective 2>$dir/why
result $? "the policy can be read again"
rm -f src && mkdir src && echo '{"filesystem": {"allowWrite": ["."]}}' >small.json && "$confine" policy --from-srt small.json >../small-out.json 2>/dev/null &&
    chmod go-w ../small-out.json && "$confine" run -q --policy ../small-out.json -- sh -c 'echo x >made' 2>$dir/why && [ -f made ]
result $? "and a command runs under it"
n=0
for text in '[]' '{"network": []}' '{"filesystem": {"allowWrite": "x"}}' '{"filesystem": {"denyRead": [1]}}' '{"a": 1, "a": 2}' 'x' '{"credentials": {"files": [{}]}}'; do
    printf %s "$text" >bad.json
    "$confine" policy --from-srt bad.json >out 2>$dir/why
    [ $? -eq 125 ] && [ ! -s out ] && [ "$(wc -l <$dir/why)" = 1 ] && n=$((n + 1))
done
[ $n -eq 7 ]
result $? "what is no such file is refused in one line ($n of 7)"
"$confine" policy --from-srt /nowhere/at/all >out 2>$dir/why
[ $? -eq 125 ] && grep -q nowhere $dir/why
result $? "nor one that is not there"
finish
