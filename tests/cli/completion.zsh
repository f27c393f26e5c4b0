# completion.zsh DIR LINE: what zsh offers behind LINE with the completions of DIR, one a line. The hooks stand in for the screen.
zmodload zsh/zpty
zpty shell zsh -f -i
read_until() { local chunk; text=; while zpty -r shell chunk; do text+=$chunk; [[ $text == *$1* ]] && return; done; return 1; }
zpty -w shell "PROMPT=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $HOME/.zcompdump; bindkey '^I' complete-word; unsetopt ZLE_REMOVE_SUFFIX_CHARS 2>/dev/null
compadd() {
    local -a found
    if [[ \${@[(I)-[AODE]*]} -gt 0 ]]; then builtin compadd \"\$@\"; return; fi
    builtin compadd -O found \"\$@\"
    print -l -- \"<\"\${^found}\">\"
    builtin compadd \"\$@\"
}
finished() { print 'THE''END'; }
comppostfuncs=(finished)
print REA''DY"
read_until READY || exit 1
zpty -n -w shell "$2"$'\t'
read_until THEEND || exit 1
print -r -- $text | tr -d '\r' | grep -o '<[^<>]*>' | sed 's/^<//; s/>$//' | sort -u
zpty -d shell
