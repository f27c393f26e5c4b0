#!/bin/bash
# help.sh - help is made from the option table: it is what it was, and the contract's options are all there.
. "$(dirname "$0")/tap.sh"

for name in confine run exec plan probe policy session check mcp fence learn; do
    case $name in
    confine) call "$confine" --help ;;
    *) call "$confine" help "$name" ;;
    esac
    { [ "$status" -eq 0 ] && [ ! -s "$dir/err" ]; } || why "status $status"
    diff -u "$here/golden/help-$name" "$dir/out" >>"$dir/why"
    result $? "help of $name is golden/help-$name"
    [ "$name" = confine ] && continue
    mv "$dir/out" "$dir/out.help"
    call "$confine" "$name" --help
    cmp -s "$dir/out" "$dir/out.help"
    result $? "$name --help is help $name"
    ! grep -q '.\{81\}' "$dir/out"
    result $? "help of $name is not wide"
done

# What is no command: every topic that is named has a text and a manual, and the surfaces are those of the report.
for topic in $("$confine" help | sed -n 's/^  confine help \([a-z]*|[a-z|]*\)$/\1/p' | tr '|' ' '); do
    topics=$((${topics-0} + 1))
    call "$confine" help "$topic"
    page=$(sed -n 's/^Manual: \([a-z-]*\)(\([0-9]\)).*/\1.\2/p' "$dir/out")
    [ "$status" -eq 0 ] && [ "$(wc -l <"$dir/out")" -gt 8 ] && [ -n "$page" ] && [ -s "$here/../../docs/man/$page" ] && ! grep -q '.\{81\}' "$dir/out"
    result $? "help $topic"
done
[ "${topics-0}" -eq 7 ]
result $? "the topics are named"
call "$confine" help surfaces
[ "$(sed -n 's/^  \([a-z_]*\.[a-z_]*\) .*/"\1"/p' "$dir/out" | paste -sd, | sed 's/,/, /g')" = "$(grep -o '"fs.read", [^]]*' "$here/../../docs/report.schema.json" | head -n 1)" ]
result $? "help surfaces has those of a report"

# Every option of the contract, with its letter. What this version refuses is known all the same.
contract='m,mode w,workspace C,chdir read readable write hide show protect unprotect socket caches tmp device
    n,network allow proxy-env upstream forward publish b,backend open require approved-mode policy env unset-env
    clean-env user pass-fd timeout limit grace wait-all tty size report control denials planted q,quiet v,verbose'
for option in $contract; do
    long=${option#?,}
    for name in run exec plan policy; do
        case $option in
        ?,*) grep -q -- "^  -${option%%,*}, --$long\( \|\$\)" "$here/golden/help-$name" ;;
        *) grep -q -- "^      --$long\( \|\$\)" "$here/golden/help-$name" ;;
        esac || why "$name does not take --$long"
    done
    [ ! -s "$dir/why" ]
    result $? "--$long is in the help of run, exec, plan and policy"
    grep -q -- "Fl -$long\( \|\$\)" "$here/../../docs/man/confine-run.1"
    result $? "--$long is in confine-run(1)"
done
# And the other way round: nothing is taken that the contract does not have.
for option in $(sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p' "$here/golden/help-run"); do
    case $option in help | session | ask) continue ;; esac # of the table of commands, and of run alone
    [[ " $(echo $contract) " =~ [\ ,]"$option"\  ]] || why "--$option"
done
[ ! -s "$dir/why" ]
result $? "run takes nothing that the contract does not have"
# Where it is installed, its links lead to pages that are there; the map of the code stays with the code.
doc=$CONFINE_STAGE/share/doc/confine links=0
for link in $(grep -oE '\]\([a-zA-Z/]+\.md' "$doc/README.md" | cut -c3-); do
    links=$((links + 1))
    [ "$link" = HACKING.md ] || [ -s "$doc/$link" ] || why "$link is not installed"
done
[ ! -s "$dir/why" ] && [ "$links" -ge 5 ]
result $? "what the README leads to is installed with it"
# And the policy that it shows is one.
sed -n '/^    {"policy": 1/,/}}$/p' "$doc/README.md" >"$dir/agent.json"
call "$confine" policy --policy "$dir/agent.json" -w . --json
[ "$status" -eq 0 ] && python3 -c 'import json, sys
seen = json.load(open(sys.argv[1]))
sys.exit(0 if len(seen["network.allow"]) == 2 and seen["write"][0]["value"] == "~/.agent" and seen["limits.time"]["from"]["layer"] == "file" else "another policy")' "$dir/out" 2>>"$dir/why"
result $? "the policy that the README shows is one"
finish
