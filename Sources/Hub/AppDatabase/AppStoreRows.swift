#if AppDatabase
  import AppManagerHost
  import Foundation

  /// The contents as rows: each element of each list of ``AppStoreContents`` is a row, so that a change of one app writes
  /// one row, and a new list needs no new table.
  struct AppStoreRows: Equatable {
    struct Key: Hashable {
      var section: String
      /// Of the element in the list; ``whole`` where the section is no list.
      var position: Int64

      static let whole: Int64 = -1
    }

    /// JSON.
    var values: [Key: String] = [:]

    static let empty = AppStoreRows()
    /// The maximum size of all rows in bytes.
    static let byteCountMax = 1 << 24

    init() {}

    init(_ contents: AppStoreContents) {
      guard let data = try? JSONEncoder().encode(contents),
        let sections = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
      else { preconditionFailure("the contents of the store of apps can't be encoded") }
      for (section, value) in sections {
        guard let elements = value as? [Any] else {
          values[Key(section: section, position: Key.whole)] = Self.text(value)
          continue
        }
        for (position, element) in elements.enumerated() {
          values[Key(section: section, position: Int64(position))] = Self.text(element)
        }
      }
    }

    private static func text(_ value: Any) -> String? {
      let data = try? JSONSerialization.data(
        withJSONObject: value, options: [.sortedKeys, .fragmentsAllowed, .withoutEscapingSlashes])
      return data.map { String(decoding: $0, as: UTF8.self) }
    }

    var byteCount: Int { values.values.reduce(0) { $0 + $1.utf8.count } }

    /// Nil where a row is no part of a list of apps. Sections that an earlier version didn't have are empty.
    var contents: AppStoreContents? {
      guard byteCount <= Self.byteCountMax,
        let data = try? JSONEncoder().encode(AppStoreContents()),
        let blank = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
      else { return nil }
      var sections = blank.mapValues { Self.text($0) ?? "null" }
      for (section, rows) in Dictionary(grouping: values, by: \.key.section) {
        guard section.utf8.allSatisfy({ (0x41...0x5a).contains($0 & ~0x20) }) else { return nil }
        let sorted = rows.sorted { $0.key.position < $1.key.position }
        guard let first = sorted.first else { continue }
        if first.key.position == Key.whole {
          sections[section] = first.value
        } else {
          sections[section] = "[" + sorted.map(\.value).joined(separator: ",") + "]"
        }
      }
      let members = sections.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
      let text = "{" + members.joined(separator: ",") + "}"
      return try? JSONDecoder().decode(AppStoreContents.self, from: Data(text.utf8))
    }
  }
#endif
