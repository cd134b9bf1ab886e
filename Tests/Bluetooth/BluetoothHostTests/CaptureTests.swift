import BluetoothInterface
import BluetoothWire
import Foundation
import Glibc
import SimulatedRadio
import Testing

@testable import BluetoothHost

@Suite("Captures")
struct CaptureTests {
  @Test("a capture can be read before the file is closed")
  func readable() throws {
    let path = Self.temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let capture = try Capture(path: path)
    let command = HCIPacket(kind: .command, bytes: [0x03, 0x0C, 0x00])
    let event = HCIPacket(kind: .event, bytes: [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00])
    capture.record(command, .hostToController)
    capture.record(event, .controllerToHost)
    #expect(try Self.records(path).isEmpty)
    capture.flush()
    let records = try Self.records(path)
    #expect(records.map(\.packet) == [command, event])
    #expect(records.map(\.direction) == [.hostToController, .controllerToHost])
    #expect(records.allSatisfy { $0.microseconds > 1_577_836_800_000_000 })

    for _ in 0..<10_000 { capture.record(event, .controllerToHost) }
    #expect(try Self.records(path).count > 2)
    capture.close()
    #expect(try Self.records(path).count == 10_002)
    #expect(capture.failure == nil)
  }

  @Test("a path that cannot be written is refused in one sentence")
  func unwritable() {
    do {
      _ = try Capture(path: "/nonexistent/capture.btsnoop")
      Issue.record("it was opened")
    } catch {
      #expect(
        error.description
          == "The capture \"/nonexistent/capture.btsnoop\" cannot be written: no such file or "
          + "directory.")
    }
  }

  @Test("a full disk is reported")
  func fullDisk() {
    do {
      _ = try Capture(path: "/dev/full")
      Issue.record("it was written")
    } catch {
      #expect(error.reason == "no space left on device")
    }
  }

  @Test("the capture of a process that is killed has all packets up to the one that it died of")
  func killed() async throws {
    let path = Self.temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      SimulatedRadio.install()
      let host = try BluetoothHost(
        radio: .simulated(.init(isPopulated: false)), captureTo: path)
      let client = host.makeClient { event in
        guard case .stateChanged(let state) = event, state == .poweredOn else { return }
        kill(getpid(), SIGKILL)
      }
      try await Task.sleep(for: .seconds(30))
      client.close()
    }
    let records = try Self.records(path)
    let commands = records.filter { $0.direction == .hostToController }.count
    // Each command was answered before the state was known.
    #expect(commands > 5 && records.count >= 2 * commands - 1)
  }

  @Test("a capture is for its user only, also where the file was there and readable by others")
  func isPrivate() throws {
    for exists in [false, true] {
      let path = Self.temporaryPath()
      defer { try? FileManager.default.removeItem(atPath: path) }
      if exists {
        #expect(
          FileManager.default.createFile(
            atPath: path, contents: Data(count: 10_000), attributes: [.posixPermissions: 0o666]))
      }
      try Capture(path: path).close()
      var information = stat()
      #expect(stat(path, &information) == 0)
      #expect(information.st_mode & 0o777 == 0o600)
      #expect(information.st_size == BTSnoop.header.count)
    }
  }

  @Test("a file that is replaced at once is for its user only, and follows no link")
  func replaced() throws {
    let folder = URL(filePath: Self.temporaryPath())
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (path, link) = (folder.path + "/file", folder.path + "/link")
    #expect(
      FileManager.default.createFile(
        atPath: path, contents: Data("diary".utf8), attributes: [.posixPermissions: 0o666]))
    #expect(symlink(path, link) == 0)
    #expect(throws: CaptureError.self) { try CaptureFile.replace(link, with: [1]) }
    #expect(try Data(contentsOf: URL(filePath: path)) == Data("diary".utf8))
    for name in ["file", "other"] {
      try CaptureFile.replace(folder.path + "/" + name, with: [1, 2])
      var information = stat()
      #expect(stat(folder.path + "/" + name, &information) == 0)
      #expect(information.st_mode & 0o777 == 0o600 && information.st_size == 2)
    }
    #expect(throws: CaptureError.self) { try CaptureFile.replace("/dev/full", with: [1]) }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.sorted() == ["file", "link", "other"])
  }

  @Test("a path that can't be replaced is found before there is anything to write")
  func replaceable() throws {
    let folder = URL(filePath: Self.temporaryPath())
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let reason = { (name: String) -> String? in
      do throws(CaptureError) {
        try CaptureFile.checkReplaceable(folder.path + "/" + name)
        return nil
      } catch {
        return error.reason
      }
    }
    for name in ["file", "others"] { try Data().write(to: folder.appending(path: name)) }
    for (name, target) in [("link", "file"), ("dangling", "none")] {
      #expect(symlink(target, folder.path + "/" + name) == 0)
      #expect(reason(name) == "it is a symbolic link")
    }
    #expect(reason("") == "it is a folder")
    #expect(reason("new/") == "it names no file")
    #expect(reason("none/new") == "its folder: no such file or directory")
    #expect(reason(String(repeating: "n", count: 256)) == "file name too long")
    if chown(folder.path + "/others", geteuid() + 1, getegid()) == 0 {
      #expect(reason("others") == "the file belongs to another user")
      #expect(throws: CaptureError.self) {
        try CaptureFile.replace(folder.path + "/others", with: [1])
      }
    }
    for name in ["file", "new", String(repeating: "n", count: 255)] {
      #expect(reason(name) == nil)
      try CaptureFile.replace(folder.path + "/" + name, with: [1, 2])
      #expect(try Data(contentsOf: folder.appending(path: name)) == Data([1, 2]))
    }
    try CaptureFile.checkReplaceable("/dev/null")
    try CaptureFile.checkReplaceable("/dev/stdout")
    #expect(throws: CaptureError.self) { try CaptureFile.checkReplaceable("/dev/fd/99999999") }
  }

  @Test("a symbolic link is refused, and the file it names is left as it is")
  func link() throws {
    let (path, link) = (Self.temporaryPath(), Self.temporaryPath())
    defer { for path in [path, link] { try? FileManager.default.removeItem(atPath: path) } }
    try Data("diary".utf8).write(to: URL(filePath: path))
    #expect(symlink(path, link) == 0)
    do {
      _ = try Capture(path: link)
      Issue.record("it was opened")
    } catch {
      #expect(error.reason == "it is a symbolic link")
    }
    #expect(try Data(contentsOf: URL(filePath: path)) == Data("diary".utf8))
  }

  @Test("a pipe and an open descriptor that are named on purpose are written")
  func pipe() throws {
    var ends: [Int32] = [0, 0]
    #expect(Glibc.pipe(&ends) == 0)
    defer { close(ends[0]) }
    for folder in ["/dev/fd", "/proc/self/fd"] {
      try Capture(path: "\(folder)/\(ends[1])").close()
      var bytes = [UInt8](repeating: 0, count: 100)
      #expect(read(ends[0], &bytes, bytes.count) == BTSnoop.header.count)
    }
    close(ends[1])
    #expect(throws: CaptureError.self) { try Capture(path: "/dev/fd/99999") }
  }

  @Test("a named pipe without a reader is refused at once, and with one it is written whole")
  func namedPipe() throws {
    let path = Self.temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(mkfifo(path, 0o600) == 0)
    do {
      _ = try Capture(path: path)
      Issue.record("it was opened")
    } catch {
      #expect(error.reason == "no program reads this pipe; start its reader first")
    }
    #expect(throws: CaptureError.self) { try CaptureFile.replace(path, with: [1]) }
    let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { close(reader) }
    let file = try CaptureFile.open(path)
    defer { close(file) }
    // Writing waits for a slow reader, as into a pipe that was opened before.
    #expect(fcntl(file, F_GETFL) & O_NONBLOCK == 0)
    try CaptureFile.write([1, 2, 3], to: file, path: path)
    var bytes = [UInt8](repeating: 0, count: 8)
    #expect(read(reader, &bytes, bytes.count) == 3 && bytes.prefix(3) == [1, 2, 3])
  }

  static func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.appending(path: "\(UUID()).btsnoop").path
  }

  static func records(_ path: String) throws -> [BTSnoop.Record] {
    let file = try Array(Data(contentsOf: URL(filePath: path)))
    var reader = try BTSnoop.Reader(file[...])
    var records: [BTSnoop.Record] = []
    while let record = try reader.next() { records.append(record) }
    return records
  }
}
