# blocks.awk - cuts the code blocks of a page of docs/ that are steps into files of the folder OUT, named by their number; their first
# line is what stands behind the language:
#   ```LANGUAGE FILE   NNN.file   the text of a new file         ```sh         NNN.sh     a command of the step
#   ```diff FILE       NNN.diff   lines of a file, changed       ```sh check   NNN.check  commands for when all is built
# Blocks with no word behind the language (but sh) are no steps.
function begin(indent, language, word)
{
    kind = language == "diff" ? "diff" : language == "sh" ? (word == "check" ? "check" : "sh") : "file"
    margin = length(indent)
    text = word "\n"
    open = language == "sh" || word != ""
}

function finish(    path)
{
    path = sprintf("%s/%03d.%s", OUT, ++n, kind)
    printf "%s", text >path
    close(path)
    open = 0
}

/^ *```/ {
    if (!inside) {
        match($0, /```/)
        split(substr($0, RSTART + 3), words, " ")
        begin(substr($0, 1, RSTART - 1), words[1], words[2])
    } else if (open) {
        finish()
    }
    inside = !inside
    next
}

open { text = text substr($0, margin + 1) "\n" }
