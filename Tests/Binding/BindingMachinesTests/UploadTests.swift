import Essentials
import Testing

@testable import BindingMachines

@Suite("Files that pages upload")
struct UploadTests {
  /// A tab that uploads, and a disk that writes when it is asked to.
  private final class Uploader {
    let bench = LiveBench()
    var requestCount = 1_000
    var epoch: String { bench.machine.sessions.values.first?.epoch ?? "" }

    init() { _ = bench.open("t~1") }

    func part(
      _ key: String = "k", at offset: Int = 0, _ byteCount: Int = 0, of size: Int = 10,
      name: String = "a.png", type: String = "image/png", end: String = "",
      upload: String = "files", row: String? = nil
    ) -> UploadPart? {
      UploadPart(
        [
          "tab": "t~1", "epoch": epoch, "upload": upload, "row": row, "file": key,
          "at": "\(offset)",
          "of": "\(size)", "name": name, "type": type, "end": end,
        ].compactMapValues(\.self), byteCount: byteCount)
    }

    /// Sends a part; the actions that follow at once.
    func send(
      _ part: UploadPart?, _ rowLimits: UploadLimits? = nil
    ) throws -> [LiveMachine.Action] {
      requestCount += 1
      bench.uploads = []
      bench.handle(.uploadReceived(request, try #require(part), rowLimits: rowLimits))
      return bench.uploads
    }

    var request: RequestID { RequestID(number: requestCount) }

    /// Sends a part and writes it; the answer.
    func put(
      _ part: UploadPart?, _ result: LiveMachine.UploadWrite = .written,
      rowLimits: UploadLimits? = nil
    ) throws -> LiveMachine.UploadAnswer? {
      let actions = try send(part, rowLimits)
      if actions.contains(where: { if case .writeUpload = $0 { true } else { false } }) {
        bench.handle(.uploadWritten(request, result))
      }
      #expect(bench.machine.violations() == [])
      guard case .answerUpload(request, let answer) = bench.uploads.last else { return nil }
      return answer
    }

    var failures: [UploadFailure] {
      bench.machine.uploads.sorted { $0.key.number < $1.key.number }.compactMap(\.value.failure)
    }
  }

  @Test
  func `A file is announced, comes in parts, and a part that comes twice is written once`() throws {
    let uploader = Uploader()
    #expect(try uploader.put(uploader.part()) == .taken)
    #expect(try uploader.put(uploader.part()) == .taken, "the answer was lost")
    #expect(try uploader.put(uploader.part(at: 0, 6)) == .taken)
    #expect(try uploader.send(uploader.part(at: 0, 4)).count == 1, "it is there already")
    #expect(try uploader.put(uploader.part(at: 4, 6)) == .taken, "half of it is new")
    let id = UploadID(number: 1)
    #expect(uploader.bench.uploads.contains(.noteUpload(id, receivedByteCount: 10)))
    #expect(uploader.bench.machine.uploads[id]?.isIncomplete == false)
  }

  @Test
  func `A part of an unannounced file, beyond a gap or of another size is not written`() throws {
    let uploader = Uploader()
    #expect(try uploader.put(uploader.part(at: 0, 5)) == .gone)
    _ = try uploader.put(uploader.part())
    let why = LiveMachine.UploadAnswer.malformed("the parts of a file follow each other")
    #expect(try uploader.put(uploader.part(at: 3, 2)) == why)
    #expect(try uploader.put(uploader.part(at: 0, 2, of: 11)) == why)
    #expect(uploader.part(at: 8, 3) == nil && uploader.part(at: -1, 0) == nil)
    #expect(uploader.part(of: -1) == nil && uploader.part(String(repeating: "k", count: 65)) == nil)
  }

  @Test
  func `While a part is being written, another one of the file has to wait`() throws {
    let uploader = Uploader()
    _ = try uploader.put(uploader.part())
    let write = LiveMachine.Action.writeUpload(
      RequestID(number: 1_002), UploadID(number: 1), offset: 0)
    #expect(try uploader.send(uploader.part(at: 0, 5)) == [write])
    #expect(try uploader.put(uploader.part(at: 0, 5)) == .busy)
    uploader.bench.handle(.uploadWritten(RequestID(number: 1_002), .written))
    #expect(try uploader.put(uploader.part(at: 5, 5)) == .taken)
  }

  @Test
  func `A file of a wrong size or type is listed with its failure, and none of it is written`()
    throws
  {
    let uploader = Uploader()
    uploader.bench.machine.setUploads(
      [UploadLimits(byteCountMax: 100, countMax: 2, types: ["image/*", ".CSV"])],
      of: ModelID(number: 1))
    let large = UploadFailure.tooLarge(byteCountMax: 100)
    #expect(try uploader.put(uploader.part("a", of: 101)) == .refused(large))
    #expect(try uploader.put(uploader.part("b", type: "text/html")) == .refused(.wrongType))
    #expect(uploader.failures == [large, .wrongType])
    #expect(try uploader.put(uploader.part("a", at: 0, 1, of: 101)) == .refused(large))
    // Those that have failed make room.
    #expect(try uploader.put(uploader.part("c", name: "T.csv", type: "")) == .taken)
    #expect(try uploader.put(uploader.part("d", type: "IMAGE/GIF")) == .taken)
    let many = UploadFailure.tooMany(countMax: 2)
    #expect(try uploader.put(uploader.part("e")) == .refused(many))
    #expect(
      uploader.bench.uploads.contains(
        .refuseUpload(ModelID(number: 1), upload: 0, row: "", many)))
    #expect(uploader.bench.machine.uploads.count == 2)
  }

  @Test
  func `Rows have the limits of their own uploads, and files of a row that is not there are gone`()
    throws
  {
    let uploader = Uploader()
    let one = UploadLimits(byteCountMax: 100)
    func part(_ key: String, row: String, of size: Int = 10) -> UploadPart? {
      uploader.part(key, of: size, upload: "rows.files", row: row)
    }
    let first = try #require(part("a", row: "1"))
    let place = uploader.bench.machine.rowUpload(of: first)
    #expect(place?.model == ModelID(number: 1) && place?.upload == 1)
    #expect(try uploader.put(part("a", row: "1"), rowLimits: one) == .taken)
    #expect(try uploader.put(part("b", row: "2"), rowLimits: one) == .taken)
    #expect(try uploader.put(part("c", row: "2"), rowLimits: one) == .taken, "it replaces b")
    #expect(try uploader.put(uploader.part("d")) == .taken)
    #expect(
      uploader.bench.machine.uploads.values.map(\.key.row).sorted() == ["", "1", "2"])
    let large = UploadFailure.tooLarge(byteCountMax: 100)
    #expect(try uploader.put(part("e", row: "3", of: 101), rowLimits: one) == .refused(large))
    #expect(try uploader.put(part("f", row: "4")) == .gone)
    let other = try #require(uploader.part(upload: "rows.none", row: "1"))
    #expect(uploader.bench.machine.rowUpload(of: other) == nil)
    #expect(try uploader.put(other) == .malformed("rows.none is no upload"))
    let ofPage = try #require(uploader.part())
    #expect(uploader.bench.machine.rowUpload(of: ofPage) == nil)
    #expect(part("g", row: String(repeating: "k", count: 257)) == nil)
  }

  @Test
  func `Where one file is taken, the next one replaces it`() throws {
    let uploader = Uploader()
    uploader.bench.machine.setUploads(
      [UploadLimits(byteCountMax: 100)], of: ModelID(number: 1))
    _ = try uploader.put(uploader.part("a"))
    _ = try uploader.put(uploader.part("b"))
    #expect(uploader.bench.uploads.contains(.removeUpload(UploadID(number: 1))))
    #expect(try uploader.put(uploader.part("a", at: 0, 5)) == .gone)
    #expect(try uploader.put(uploader.part("b", at: 0, 5)) == .taken)
  }

  @Test
  func `A full disk, a disk that fails and the limit of all files are told apart`() throws {
    let uploader = Uploader()
    _ = try uploader.put(uploader.part("a"))
    #expect(try uploader.put(uploader.part("a", at: 0, 5), .noRoom) == .refused(.noRoom))
    #expect(try uploader.put(uploader.part("b"), .failed) == .refused(.notWritten))
    uploader.bench.machine.setUploads(
      [UploadLimits(byteCountMax: .max, countMax: 9)], of: ModelID(number: 1))
    let most = BindingLimits.uploadByteCountMax
    #expect(try uploader.put(uploader.part("c", of: most - 5)) == .taken)
    #expect(try uploader.put(uploader.part("d", of: 6)) == .refused(.noRoom))
    #expect(try uploader.put(uploader.part("e", of: 5)) == .taken)
    #expect(uploader.failures == [.noRoom, .notWritten, .noRoom])
  }

  @Test
  func `A file that is removed while a part is written is gone, and stays so`() throws {
    let uploader = Uploader()
    _ = try uploader.put(uploader.part())
    _ = try uploader.send(uploader.part(at: 0, 5))
    uploader.bench.handle(.uploadRemoved(UploadID(number: 1)))
    uploader.bench.handle(.uploadWritten(uploader.request, .written))
    #expect(uploader.bench.uploads.last == .answerUpload(uploader.request, .gone))
    #expect(try uploader.put(uploader.part(at: 0, 5)) == .gone)
    #expect(uploader.bench.machine.uploads.isEmpty && uploader.bench.machine.uploadWrites.isEmpty)
  }

  @Test
  func `A file of which nothing comes for five minutes is interrupted, and a whole one is kept`()
    throws
  {
    let uploader = Uploader()
    _ = try uploader.put(uploader.part("a"))
    _ = try uploader.put(uploader.part("b", of: 0))
    uploader.bench.advance(by: .seconds(290))
    #expect(uploader.failures == [])
    uploader.bench.advance(by: .seconds(20))
    #expect(uploader.failures == [.interrupted])
    #expect(try uploader.put(uploader.part("a", at: 0, 5)) == .refused(.interrupted))
  }

  @Test
  func `A file that its browser can't read any more is interrupted at once`() throws {
    let uploader = Uploader()
    #expect(try uploader.put(uploader.part(end: "1")) == .gone)
    #expect(uploader.bench.machine.uploads.isEmpty, "it was never announced")
    _ = try uploader.put(uploader.part())
    #expect(try uploader.put(uploader.part(end: "1")) == .gone)
    #expect(uploader.failures == [.interrupted])
  }

  @Test
  func `Files end with their view model, and half a file with the page that sends it`() throws {
    let uploader = Uploader()
    _ = try uploader.put(uploader.part("a"))
    _ = try uploader.put(uploader.part("b", of: 0))
    uploader.bench.handle(.left([try #require(TabName("t~1"))]))
    // The tab has loaded the page again, and the view model lives on.
    _ = uploader.bench.open("t~2")
    uploader.bench.advance(by: .seconds(70))
    #expect(uploader.failures == [.interrupted])
    #expect(uploader.bench.machine.uploads.count == 2)
    #expect(uploader.bench.machine.uploadIDs.isEmpty)
    uploader.bench.uploads = []
    uploader.bench.handle(.left([try #require(TabName("t~2"))]))
    uploader.bench.advance(by: .seconds(70))
    let removed = [1, 2].map { LiveMachine.Action.removeUpload(UploadID(number: $0)) }
    #expect(uploader.bench.uploads == removed)
    #expect(uploader.bench.machine.violations() == [])
  }

  @Test(arguments: [
    ("../../etc/passwd", "passwd"), ("C:\\fakepath\\a b.png", "a b.png"), ("..", "file"),
    ("", "file"), ("a\u{202E}gnp.exe", "agnp.exe"), ("a\n\u{0}b\u{85}", "ab"), ("/", "file"),
    (" . ", "file"), ("é👩‍👩‍👧.txt", "é👩‍👩‍👧.txt"),
  ])
  func `The name of a file has no folder, control or direction`(_ name: String, _ shown: String) {
    #expect(UploadPart.displayName(name) == shown)
  }

  @Test
  func `A long name keeps its end, within whole characters`() {
    let name = UploadPart.displayName(String(repeating: "ü", count: 300) + ".tar.gz")
    #expect(name.utf8.count == 255 && name.hasSuffix("ü.tar.gz"))
  }
}
