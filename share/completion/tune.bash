# SPDX-License-Identifier: MIT
# bash completion of tune, tune-agent and tune-tracker. It knows no names: the program tells what may come next (--complete),
# nothing where a file is due.
_tune()
{
    mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _tune tune tune-agent tune-tracker
