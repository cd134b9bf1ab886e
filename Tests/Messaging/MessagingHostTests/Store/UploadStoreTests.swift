#if Messaging
  import Testing
  import XMPPMachines
  import XMPPWire

  @testable import MessagingHost

  @Suite("The store of uploads")
  struct UploadStoreTests {
    private static func row(_ number: Int64, outcome: UploadRow.Outcome? = nil) -> UploadRow {
      UploadRow(
        id: UploadID(rawValue: number), peer: "bob@x", originID: "o\(number)", path: "/tmp/ä b.jpg",
        metadata: FileMetadata(
          name: "ä b.jpg", mediaType: "image/jpeg", byteCount: 7,
          hashes: [FileHash(FileHash.sha256, [UInt8](repeating: 1, count: 32))], width: 3,
          height: 4, duration: 5),
        deadline: 9, date: 8, outcome: outcome)
    }

    @Test func `Uploads and their outcomes come back as they were written`() throws {
      let failures: [UploadFailure] = [
        .deadline, .cancelled, .unsupported, .tooLarge(byteCountMax: 5),
        .tooLarge(byteCountMax: nil),
        .refused("forbidden"), .changed, .unreadable("gone"),
      ]
      let outcomes: [UploadRow.Outcome] =
        [.sent(RowID(rawValue: 7))] + failures.map(UploadRow.Outcome.failed)
      let folder = try TestFolder()
      let path = folder.path("messages")
      let store = try MessageStore(path: path)
      for place in 0...outcomes.count {
        try store.apply([.uploads(.insert(Self.row(Int64(place))))])
      }
      for (place, outcome) in outcomes.enumerated() {
        try store.apply([.uploads(.setOutcome(UploadID(rawValue: Int64(place)), outcome))])
      }
      store.close()
      let next = try MessageStore(path: path)
      defer { next.close() }
      let wanted =
        outcomes.enumerated().map { Self.row(Int64($0), outcome: $1) }
        + [Self.row(Int64(outcomes.count))]
      #expect(try next.loadUploads().rows == wanted)
      try next.apply([.uploads(.forget(UploadID(rawValue: 0)))])
      #expect(try next.loadUploads().rows == Array(wanted.dropFirst()))
    }

    @Test func `A file that is sent twice under one name is stored once`() throws {
      let folder = try TestFolder()
      let store = try MessageStore(path: folder.path("messages"))
      defer { store.close() }
      try store.apply([.uploads(.insert(Self.row(1)))])
      var second = Self.row(2)
      second.originID = Self.row(1).originID
      #expect(throws: StoreError.self) { try store.apply([.uploads(.insert(second))]) }
      #expect(try store.loadUploads().rows == [Self.row(1)])
    }
  }
#endif
