import BluetoothHost
import Glibc
import HubHost
import SimulatedRadio
import Testing

@Suite("The folder of a hub's socket", .timeLimit(.minutes(5)))
struct SocketFolderTests {
  private let folder: String
  private var path: String { folder + "/ambit/hub" }

  init() throws {
    SimulatedRadio.install()
    var template = Array(("/tmp/ambit-folder-" + String(repeating: "X", count: 6)).utf8CString)
    let name = unsafe template.withUnsafeMutableBufferPointer { buffer -> String? in
      guard let start = buffer.baseAddress, unsafe mkdtemp(start) != nil else { return nil }
      return unsafe String(cString: start)
    }
    folder = try #require(name)
  }

  private func clean() {
    for file in [path, path + ".lock"] { unlink(file) }
    rmdir(folder + "/ambit")
    rmdir(folder)
  }

  /// Starts a hub in a folder of its own; the error with which that fails.
  private func start() async throws -> HubServerError? {
    let host = try BluetoothHost(radio: .standard)
    defer { Task { await host.close() } }
    do throws(HubServerError) {
      let server = try await HubServer.start(at: .ownFolder(path: path), host)
      await server.close()
      return nil
    } catch { return error }
  }

  /// A socket that listens at the path.
  private func listen() throws -> Int32 {
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try #require(listener >= 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let status = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(status == 0 && Glibc.listen(listener, 8) == 0)
    return listener
  }

  @Test("a folder that is missing is made, and no other user may change it")
  func missing() async throws {
    #expect(try await start() == nil)
    var information = stat()
    #expect(stat(folder + "/ambit", &information) == 0)
    #expect(information.st_mode & 0o022 == 0)
    clean()
  }

  @Test("a folder that others may change is refused")
  func changeable() async throws {
    mkdir(folder + "/ambit", 0o700)
    chmod(folder + "/ambit", 0o777)
    #expect(try await start()?.kind == .notPermitted)
    clean()
  }

  @Test(.enabled(if: geteuid() == 0))
  func `A lock that another user's process holds is no other hub, unless a hub answers`()
    async throws
  {
    mkdir(folder + "/ambit", 0o755)
    chmod(folder + "/ambit", 0o755)
    let lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
    #expect(try await start()?.kind == .isTaken)
    #expect(fchown(lock, 65_534, 65_534) == 0)
    let error = try await start()
    #expect(error?.kind == .notPermitted)
    #expect(error?.description.contains("user 65534 has locked \(path).lock") == true)
    let listener = try listen()
    #expect(try await start()?.kind == .isTaken)
    close(listener)
    #expect(try await start()?.kind == .notPermitted)
    close(lock)
    #expect(try await start() == nil)
    clean()
  }

  @Test("a socket of a service manager, in a folder that others may read, is another hub's")
  func serviceManager() async throws {
    mkdir(folder + "/ambit", 0o755)
    chmod(folder + "/ambit", 0o755)
    let listener = try listen()
    let error = try #require(try await start())
    #expect(error.kind == .isTaken)
    #expect(error.description == "Another hub runs at \(path).")
    #expect(access(path, F_OK) == 0, "the socket is kept")
    close(listener)
    clean()
  }
}
