import Glibc
import HubMachines
import Testing

@testable import HubHost

@Suite("The file of a hub's rules")
struct RulesFileTests {
  private let folder: String
  private var path: String { folder + "/hub.json" }

  init() throws { folder = try temporaryFolder() }

  private func write(_ text: String, mode: mode_t = 0o644, to path: String? = nil) throws {
    let descriptor = open(path ?? self.path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    try #require(fchmod(descriptor, mode) == 0)
  }

  private func remove() {
    for name in ["hub.json", "link.json", "open/hub.json"] { unlink(folder + "/" + name) }
    rmdir(folder + "/open")
    rmdir(folder)
  }

  /// Why the rules are not used; nil if they are.
  private func failure(_ path: String? = nil) -> HubServerError? {
    do throws(HubServerError) {
      _ = try HubRulesFile.load(path ?? self.path)
      return nil
    } catch { return error }
  }

  @Test("rules are read with the machine's users")
  func reading() throws {
    defer { remove() }
    try write("{\"rules\": [{\"access\": \"deny\", \"user\": \"root\", \"group\": \"root\"}]}")
    #expect(
      try HubRulesFile.load(path).rules == [HubRules.Rule(.deny, userID: 0, groupID: 0)])
  }

  @Test(
    "a map of accounts has all of them only if it is the machine's own",
    arguments: [
      ("         0          0 4294967295\n", true), ("0 100000 65536\n", false),
      ("0 0 65536\n", false), ("0 0 1\n1 1 4294967294\n", false), ("", false), ("\u{0}", false),
    ])
  func maps(text: String, isWhole: Bool) {
    #expect(SystemAccounts.isWhole(Array(text.utf8)) == isWhole)
  }

  @Test("a mistake is one sentence with the file and the place")
  func mistake() throws {
    defer { remove() }
    try write("{\"rules\": [{\"access\": \"deny\", \"user\": \"no such user\"}]}")
    let error = try #require(failure())
    #expect(error.kind == .rulesInvalid)
    #expect(
      error.description
        == "The hub's rules at \(path) have a mistake: line 1, column 39: rules[0].user: "
        + "\"no such user\" is no user of this machine.")
  }

  @Test("a named file that is missing is an error")
  func missing() {
    defer { remove() }
    #expect(failure()?.kind == .rulesUnreadable)
    #expect(failure(folder + "/none/hub.json")?.kind == .rulesUnreadable)
  }

  @Test("a file that others may write is not used", arguments: [0o664, 0o646, 0o666] as [mode_t])
  func writable(mode: mode_t) throws {
    defer { remove() }
    try write("{\"rules\": []}", mode: mode)
    let error = try #require(failure())
    #expect(error.kind == .rulesInvalid)
    #expect(error.description.contains("other users may write to the file (chmod go-w)"))
    try write("{\"rules\": []}", mode: 0o644)
    #expect(failure() == nil)
  }

  @Test("a file is not used in a folder in which others could replace it, also behind a link")
  func folders() throws {
    defer { remove() }
    let open = folder + "/open"
    try #require(mkdir(open, 0o700) == 0 && chmod(open, 0o777) == 0)
    try write("{\"rules\": []}", to: open + "/hub.json")
    try #require(symlink(open + "/hub.json", folder + "/link.json") == 0)
    for path in [open + "/hub.json", folder + "/link.json"] {
      #expect(failure(path)?.description.contains("other users may write to the folder") == true)
    }
    // In a sticky folder such as /tmp, they can't.
    try #require(chmod(open, 0o1777) == 0)
    #expect(failure(folder + "/link.json") == nil)
  }

  @Test("a file of another user is not used", .enabled(if: geteuid() == 0))
  func owner() throws {
    defer { remove() }
    try write("{\"rules\": []}")
    try #require(chown(path, 23_456, 0) == 0)
    #expect(failure()?.description.contains("the file belongs to user 23456") == true)
  }

  @Test("a pipe and a folder are no files of rules, and are not waited for")
  func otherKinds() throws {
    defer { remove() }
    try #require(mkfifo(path, 0o600) == 0)
    #expect(failure()?.description.contains("it is no regular file") == true)
    #expect(failure(folder)?.description.contains("it is no regular file") == true)
  }

  @Test("a file beyond the maximum size is refused, and one of that size is read whole")
  func size() throws {
    defer { remove() }
    let text = "{\"rules\": []}"
    let room = HubRules.byteCountMax - text.utf8.count
    try write(text + String(repeating: " ", count: room))
    #expect(failure() == nil)
    try write(text + String(repeating: " ", count: room + 1))
    #expect(failure()?.kind == .rulesInvalid)
  }

  @Test(
    "the usual file is the system's for root and services, and the user's in a session",
    arguments: [
      (true, ["XDG_RUNTIME_DIR": "/run/user/0", "HOME": "/root"], "/etc/ambit/hub.json"),
      (false, ["HOME": "/home/guide"], "/etc/ambit/hub.json"),
      (
        false, ["XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/home/guide"],
        "/home/guide/.config/ambit/hub.json"
      ),
      (
        false,
        ["XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/home/guide", "XDG_CONFIG_HOME": "/config"],
        "/config/ambit/hub.json"
      ),
      (false, ["XDG_RUNTIME_DIR": "/run/user/1", "XDG_CONFIG_HOME": "config"], nil),
    ] as [(Bool, [String: String], String?)])
  func usualPath(isRoot: Bool, environment: [String: String], path: String?) {
    #expect(HubRulesFile.standardPath(isRoot: isRoot) { environment[$0] } == path)
    rmdir(folder)
  }
}
