extension HubStatus {
  /// The room for entries in a message. The rest of the message takes less than 16 KiB.
  static let entryByteCountMax = HubProtocol.messageByteCountMax - 16 * 1024

  /// Removes and counts the entries that have no room in a message: those of Multicast DNS first, then programs, then
  /// links.
  package mutating func cut() {
    for index in links.indices where links[index].users.count > Self.userCountMax {
      links[index].users.removeSubrange(Self.userCountMax...)
    }
    var room = Self.entryByteCountMax
    room -= networkProblem.map { 3 + min($0.utf8.count, HubProtocol.textByteCountMax) } ?? 0
    // A path that is cut would be another one.
    if let path = bondFile?.path, path.utf8.count > HubProtocol.textByteCountMax { bondFile = nil }
    room -= bondFile == nil ? 0 : 2 * (16 + HubProtocol.textByteCountMax)
    counts.otherLinkCount += Self.cut(&links, max: Self.linkCountMax, &room) {
      let names = [$0.peer, $0.name ?? "", $0.stage]
      return 60 + names.reduce(0) { $0 + min($1.utf8.count, Self.nameByteCountMax) }
        + 10 * $0.users.count
    }
    counts.otherProgramCount += Self.cut(&programs, max: Self.programCountMax, &room) {
      200 + min($0.app.utf8.count, Self.nameByteCountMax)
        + min($0.unit?.utf8.count ?? 0, Self.nameByteCountMax)
    }
    counts.refusals.otherNetworkProgramCount += Self.cut(
      &networkPrograms, max: Self.networkProgramCountMax, &room
    ) { 80 + min($0.name.utf8.count, Self.nameByteCountMax) }
  }

  /// Removes the last entries, for which there is no room. Returns their number.
  ///
  /// - Parameters:
  ///   - entries: The entries.
  ///   - max: The maximum number of entries.
  ///   - room: The number of bytes that are left for these and the following entries.
  ///   - byteCount: The greatest number of bytes that an entry may take.
  private static func cut<Entry>(
    _ entries: inout [Entry], max: Int, _ room: inout Int, byteCount: (Entry) -> Int
  ) -> Int {
    var count = 0
    for entry in entries.prefix(max) {
      let needed = byteCount(entry)
      guard needed <= room else { break }
      room -= needed
      count += 1
    }
    defer { entries.removeSubrange(count...) }
    return entries.count - count
  }
}
