import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("An inspection that loses its device", .timeLimit(.minutes(5)))
struct InspectTests {
  /// An air with a device that has more than can be discovered, or read, at once.
  private struct Rig {
    /// `F_SETPIPE_SZ` of fcntl(2), which the C library's module lacks.
    private static let setPipeSize: Int32 = 1_031

    let radio: ServedRadio
    private let device: AmbitRun
    private let reports: FileHandle

    init(in folder: String, services: Int, characteristics: Int) async throws {
      let list = (0..<services).map { service in
        let uuid = String(0xA000 + 0x40 * service, radix: 16)
        let members = (1...characteristics).map { number in
          let uuid = String(0xA000 + 0x40 * service + number, radix: 16)
          return #"{"uuid": "\#(uuid)", "value": {"uint8": 7}, "writeable": true}"#
        }
        return #"{"uuid": "\#(uuid)", "characteristics": [\#(members.joined(separator: ", "))]}"#
      }
      let text =
        #"{"name": "Large", "advertise": [], "services": [\#(list.joined(separator: ", "))]}"#
      let file = folder + "/large.json"
      try Data(text.utf8).write(to: URL(fileURLWithPath: file))
      radio = try await ServedRadio("sim:empty")
      let output = Pipe()
      let writing = output.fileHandleForWriting
      // One page, and so a report at a time, or a few.
      #expect(fcntl(writing.fileDescriptor, Self.setPipeSize, 4_096) > 0)
      device = try AmbitRun(
        ["peripheral", file, "--radio", radio.name, "--json"], writingTo: writing)
      try writing.close()
      reports = output.fileHandleForReading
      #expect(await hasReported("\"advertising\""))
    }

    /// Reads the device's output up to the last of a number of texts, and no further. The device reports a read
    /// before it answers, so that it soon waits.
    func hasReported(_ text: String, count: Int = 1) async -> Bool {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { [reports] in
          var bytes = Data()
          while String(decoding: bytes, as: UTF8.self).components(separatedBy: text).count <= count
          {
            guard let byte = try? reports.read(upToCount: 1), !byte.isEmpty else {
              return continuation.resume(returning: false)
            }
            bytes += byte
          }
          continuation.resume(returning: true)
        }
      }
    }

    func inspect() throws -> AmbitRun {
      try AmbitRun(["inspect", "Large", "--radio", radio.name, "--json"])
    }

    /// Ends the device's process, and with it its radio: nothing more is heard of it.
    func lose() async {
      device.send(SIGKILL)
      _ = await device.processEnd()
    }
  }

  private static func objects(_ end: AmbitRun.End, _ event: String) throws -> [[String: Any]] {
    try end.output.compactMap { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return object?["event"] as? String == event ? object : nil
    }
  }

  @Test("the tree of a device that is lost while it is read has the values until then")
  func whileReading() async throws {
    let folder = try TestFolder()
    let rig = try await Rig(in: folder.path, services: 2, characteristics: 60)
    let inspect = try rig.inspect()
    // The third report shows that two reads were answered. Without a reader there are few others.
    #expect(await rig.hasReported("\"read\"", count: 3))
    await rig.lose()
    let end = await inspect.end()
    #expect(end.status == AmbitCLI.ExitStatus.failure.rawValue, "\(end)")
    let sentence = end.complaints.joined(separator: " ")
    #expect(sentence.contains("Large disconnected: "), "\(end)")
    #expect(sentence.contains(", while reading A0"), "\(end)")
    let characteristics = try Self.objects(end, "characteristic").filter {
      ($0["uuid"] as? String)?.hasPrefix("A0") == true
    }
    #expect(characteristics.count == 120, "\(end)")
    let known = characteristics.prefix(while: { $0["hex"] != nil })
    #expect(!known.isEmpty && known.count < 120, "\(end)")
    #expect(known.allSatisfy { $0["hex"] as? String == "07" })
    let rest = characteristics.dropFirst(known.count)
    #expect(rest.first?["error"] as? String == "no answer", "\(end)")
    #expect(rest.dropFirst().allSatisfy { $0["error"] == nil && $0["hex"] == nil }, "\(end)")
  }
}
