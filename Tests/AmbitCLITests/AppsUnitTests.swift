import ArgumentParser
import Foundation
import Testing

@testable import AmbitCLI

@Suite struct AppsUnitTests {
  @Test func `The unit of the manager of apps has a delegated control group`() throws {
    let unit = try #require(AppsUnit(executable: "/usr/local/bin/ambit", radio: "uart:/dev/tty 1"))
    let lines = unit.file.text.split(separator: "\n").map(String.init)
    #expect(lines.contains("Delegate=yes"))
    #expect(lines.contains("FileDescriptorStoreMax=4096") && lines.contains("NotifyAccess=main"))
    #expect(lines.contains("StartLimitIntervalSec=0") && lines.contains("Restart=on-failure"))
    #expect(lines.contains("ExecStart=/usr/local/bin/ambit apps run --radio \"uart:/dev/tty 1\""))
    #expect(lines[0].hasPrefix("# Written by \"ambit apps install\"."))
    #expect(AppsUnit(executable: "ambit") == nil)
  }

  @Test func `A unit of the manager of apps is known again, and a changed one, too`() throws {
    let unit = try #require(AppsUnit(executable: "/usr/local/bin/ambit"))
    #expect(UnitFile.author(of: Array(unit.file.text.utf8)) == .install)
    #expect(UnitFile.author(of: Array((unit.file.text + "#").utf8)) == .changed)
  }

  @Test func `The unit is written, found unchanged, and removed with a prefix`() async throws {
    let root = FileManager.default.temporaryDirectory.appending(path: "ambit-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: root) }
    let install = try AppsInstall.parse(["--prefix", root])
    try await install.run()
    try await install.run()
    let place = ServicePlace(scope: .user, root: root)
    let folder = try place.folder(ProcessInfo.processInfo.environment)
    #expect(FileManager.default.fileExists(atPath: folder.place(of: AppsUnit.name)))
    let uninstall = try AppsUninstall.parse(["--prefix", root])
    try await uninstall.run()
    #expect(!FileManager.default.fileExists(atPath: folder.place(of: AppsUnit.name)))
    await #expect(throws: CommandFailure.self) { try await uninstall.run() }
  }
}
