#if Messaging
  /// A page of a list (XEP-0059): as a request the wish, as an answer the page's place.
  package struct ResultSet: XMPPExtension {
    /// The number of items that is wished for.
    package var max: Int?
    /// The items after this one are wished for.
    package var after: String?
    /// The items before this one are wished for; empty for the last page.
    package var before: String?
    /// The identifier of the page's first item.
    package var first: String?
    /// The number of items before the page, if the server tells.
    package var firstIndex: Int?
    /// The identifier of the page's last item.
    package var last: String?
    /// The number of items of the whole list, if the server tells.
    package var count: Int?

    package init(max: Int? = nil, after: String? = nil, before: String? = nil) {
      self.max = max
      self.after = after
      self.before = before
    }

    package init?(_ element: XMLElement) {
      guard element.has("set", Namespace.resultSets) else { return nil }
      func text(_ name: String) -> String? { element.child(name, Namespace.resultSets)?.text }
      func number(_ text: String?) -> Int? {
        text.flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
      }
      max = number(text("max"))
      after = text("after")
      before = text("before")
      first = text("first")
      firstIndex = number(element.child("first", Namespace.resultSets)?["index"])
      last = text("last")
      count = number(text("count"))
    }

    package var element: XMLElement {
      var children: [XMLElement] = []
      func append(
        _ name: String, _ text: String?, _ attributes: KeyValuePairs<String, String?> = [:]
      ) {
        guard let text else { return }
        children.append(
          XMLElement(
            name, Namespace.resultSets, attributes, text: text.isEmpty ? nil : text))
      }
      append("max", max.map { "\($0)" })
      append("after", after)
      append("before", before)
      append("first", first, ["index": firstIndex.map { "\($0)" }])
      append("last", last)
      append("count", count.map { "\($0)" })
      return XMLElement("set", Namespace.resultSets, children: children)
    }
  }

  /// A query of an archive (XEP-0313, version 2).
  package struct ArchiveQuery: XMPPExtension {
    /// Distinguishes the results of queries.
    package var id: String
    /// Only messages with this address.
    package var with: JID?
    package var start: Timestamp?
    package var end: Timestamp?
    /// Only messages after the one with this archive identifier, if the archive announces `urn:xmpp:mam:2#extended`.
    package var afterID: String?
    package var page: ResultSet

    package init(
      id: String, with: JID? = nil, start: Timestamp? = nil, end: Timestamp? = nil,
      afterID: String? = nil, page: ResultSet
    ) {
      self.id = id
      self.with = with
      self.start = start
      self.end = end
      self.afterID = afterID
      self.page = page
    }

    package init?(_ element: XMLElement) {
      guard element.has("query", Namespace.archive), let id = element["queryid"] else { return nil }
      let form = DataForm.first(in: element.children)
      self.init(
        id: id, with: form?["with"].flatMap { JID($0) },
        start: form?["start"].flatMap { Timestamp($0) },
        end: form?["end"].flatMap { Timestamp($0) },
        afterID: form?["after-id"], page: ResultSet.first(in: element.children) ?? ResultSet())
    }

    package var element: XMLElement {
      let fields: [(String, String?)] = [
        ("with", with?.description), ("start", start?.description), ("end", end?.description),
        ("after-id", afterID),
      ]
      let form = DataForm(
        .submit, type: Namespace.archive,
        fields: fields.compactMap { name, value in value.map { DataForm.Field(name, [$0]) } })
      return XMLElement(
        "query", Namespace.archive, ["queryid": id],
        children: (form.fields.count > 1 ? [form.element] : []) + [page.element])
    }
  }

  /// A message of an archive, inside a message from the archive. It counts only if that one is from one's own bare
  /// address, or from the room that was queried.
  package struct ArchiveResult: XMPPExtension {
    /// The query's identifier.
    package var query: String?
    /// The message's identifier in the archive.
    package var id: StanzaID
    package var forwarded: Forwarded

    package init(query: String?, id: StanzaID, _ forwarded: Forwarded) {
      self.query = query
      self.id = id
      self.forwarded = forwarded
    }

    package init?(_ element: XMLElement) {
      guard element.has("result", Namespace.archive),
        let id = element["id"].flatMap({ StanzaID($0) }),
        let forwarded = Forwarded.first(inside: element)
      else { return nil }
      self.init(query: element["queryid"], id: id, forwarded)
    }

    package var element: XMLElement {
      XMLElement(
        "result", Namespace.archive, ["queryid": query, "id": id.text],
        children: [forwarded.element])
    }
  }

  /// The end of a page of an archive's results.
  package struct ArchiveEnd: XMPPExtension {
    /// Whether the page is the last one.
    package var isComplete: Bool
    /// Whether the archive doesn't change in the place of the page, as far as the server knows.
    package var isStable: Bool
    package var page: ResultSet

    package init(isComplete: Bool, isStable: Bool = true, page: ResultSet) {
      self.isComplete = isComplete
      self.isStable = isStable
      self.page = page
    }

    package init?(_ element: XMLElement) {
      guard element.has("fin", Namespace.archive) else { return nil }
      isComplete = ["true", "1"].contains(element["complete"])
      isStable = !["false", "0"].contains(element["stable"])
      page = ResultSet.first(in: element.children) ?? ResultSet()
    }

    package var element: XMLElement {
      XMLElement(
        "fin", Namespace.archive,
        ["complete": isComplete ? "true" : nil, "stable": isStable ? nil : "false"],
        children: [page.element])
    }
  }

  /// The first and the last message of an archive (XEP-0313, §5): the request, if both are nil, and the answer.
  package struct ArchiveMetadata: XMPPExtension {
    package struct Entry: Hashable, Sendable {
      package var id: StanzaID
      package var time: Timestamp

      package init(id: StanzaID, time: Timestamp) {
        self.id = id
        self.time = time
      }
    }

    /// Nil if the archive is empty.
    package var first: Entry?
    package var last: Entry?

    package init(first: Entry? = nil, last: Entry? = nil) {
      self.first = first
      self.last = last
    }

    package init?(_ element: XMLElement) {
      guard element.has("metadata", Namespace.archive) else { return nil }
      func entry(_ name: String) -> Entry? {
        guard let child = element.child(name, Namespace.archive),
          let id = child["id"].flatMap({ StanzaID($0) }),
          let time = child["timestamp"].flatMap({ Timestamp($0) })
        else { return nil }
        return Entry(id: id, time: time)
      }
      first = entry("start")
      last = entry("end")
    }

    package var element: XMLElement {
      XMLElement(
        "metadata", Namespace.archive,
        children: [("start", first), ("end", last)].compactMap { name, entry in
          entry.map {
            XMLElement(
              name, Namespace.archive, ["id": $0.id.text, "timestamp": $0.time.description])
          }
        })
    }
  }
#endif
