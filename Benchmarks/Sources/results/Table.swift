/// Makes a table in Markdown whose columns are aligned, so that it is readable on a terminal. All columns after the first are figures.
func table(_ header: [String], _ rows: [[String]]) -> String {
    // The rule of a column takes two characters.
    let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.reduce(2, max) }
    let rules = widths.enumerated().map { column, width in
        column == 0 ? String(repeating: "-", count: width) : String(repeating: "-", count: max(1, width - 1)) + ":"
    }
    return ([header, rules] + rows).map { cells in
        let padded = cells.enumerated().map { column, cell in
            let space = String(repeating: " ", count: widths[column] - cell.count)
            return column == 0 ? cell + space : space + cell
        }
        return "| " + padded.joined(separator: " | ") + " |"
    }.joined(separator: "\n")
}
