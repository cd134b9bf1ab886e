import Foundation
import Testing

@Suite("The steps of ./test")
struct StepTests {
  private struct Outcome {
    var status: Int32
    var output: String
  }

  /// Runs lines of bash after scripts/steps.sh, in an empty folder.
  private static func run(_ lines: String) throws -> Outcome {
    let folder = FileManager.default.temporaryDirectory.appending(path: "steps-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let root = SourceTree.root.path
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.currentDirectoryURL = folder
    process.arguments = [
      "bash", "-c",
      "set -eu; . '\(root)/scripts/setup.sh'; . '\(root)/scripts/steps.sh'\n\(lines)",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Outcome(status: process.terminationStatus, output: text)
  }

  @Test("a step fails when a command within its function fails, and the steps after it don't run")
  func failure() throws {
    let outcome = try Self.run(
      """
      commands() { true; false; echo "after the failure"; }
      step "Commands" 1 commands
      step "Next" 1 true
      """)
    #expect(outcome.status == 1)
    #expect(outcome.output.contains("\"Commands\" failed"))
    #expect(!outcome.output.contains("Next"))
  }

  @Test("a step whose peer crashed is repeated once, and the list of times mentions it")
  func repetition() throws {
    let outcome = try Self.run(
      """
      peer() { if [ -z "${IS_REPETITION:-}" ]; then echo PeerCrashed; false; fi; }
      step "Peer" 1 peer
      cat .build/logs/times
      """)
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("Peer (a peer or the test process crashed; repeated)"))
  }

  @Test("a step that fails after the machine stood still is repeated once")
  func stops() throws {
    let outcome = try Self.run(
      """
      stop_seconds=0
      late() {
        [ -z "${IS_REPETITION:-}" ] || return 0
        until [ -e .build/logs/Late.log.stood ]; do sleep 0.1; done
        false
      }
      step "Late" 1 late
      cat .build/logs/times
      """)
    #expect(outcome.status == 0)
    #expect(outcome.output.contains("Late (the machine stood still for seconds; repeated)"))
  }

  @Test("a step that takes too long is ended, repeated, and then fails")
  func limit() throws {
    let outcome = try Self.run("step 'Late' 0 tail -f /dev/null")
    #expect(outcome.status == 1)
    #expect(outcome.output.contains("\"Late\" failed twice, at first because it took too long"))
  }

  @Test("a check runs again when one of its files has changed, and not before")
  func unchanged() throws {
    let outcome = try Self.run(
      """
      git init -q .; mkdir scripts; touch Package.swift scripts/setup.sh
      commit() { git add .; git -c user.name=A -c user.email=a@b.c commit -q -m change; }
      check() { if_changed check file -- echo ran; }
      echo 1 >file; commit; check; check
      echo 2 >file; check; check; commit; check; check
      """)
    #expect(outcome.status == 0)
    #expect(outcome.output.components(separatedBy: "ran").count - 1 == 4)
  }

  @Test
  func
    `A check of one module runs again after a change of the settings, not of the list of targets`()
    throws
  {
    let outcome = try Self.run(
      """
      git init -q .; mkdir scripts; touch scripts/setup.sh file
      commit() { git add .; git -c user.name=A -c user.email=a@b.c commit -q -m change; }
      check() {
        printf 'let package = Package(\\n  targets: [\\n    a(\\n      %s\\n    ),\\n  ],\\n  %s\\n)\\n' "$2" "$3" >Package.swift
        commit; if_changed "$1" file -- echo "$1 ran"
      }
      for name in documentation-A sanitizer fuzz; do
        check $name one settings; check $name two settings; check $name two other
      done
      """)
    #expect(outcome.status == 0)
    let runs = outcome.output.split(separator: "\n").filter { $0.hasSuffix(" ran") }
    let counts = ["documentation-A", "sanitizer", "fuzz"].map { name in
      runs.count { $0 == "\(name) ran" }
    }
    #expect(counts == [2, 2, 3], "\(outcome.output)")
  }

  @Test("a check for which the run has no time left is reported as not run, and isn't recorded")
  func late() throws {
    let outcome = try Self.run(
      """
      git init -q .; mkdir scripts; touch Package.swift scripts/setup.sh file
      git add .; git -c user.name=A -c user.email=a@b.c commit -q -m first
      AMBIT_SLOW_CHECKS_UNTIL=0 if_changed check file -- echo ran
      [ ! -e .build/passed ]; cat "$logs/times"
      """)
    #expect(!outcome.output.contains("ran"))
    #expect(outcome.output.components(separatedBy: "check was NOT RUN").count == 3)
  }

  @Test("a check that depends on a file that does not exist fails")
  func missing() throws {
    let outcome = try Self.run("git init -q .; if_changed check file -- echo ran")
    #expect(outcome.status == 1)
    #expect(!outcome.output.contains("ran"))
  }

  @Test("steps that run beside others fail the whole, too")
  func beside() throws {
    let outcome = try Self.run(
      """
      beside_step "Beside" 1 false
      step "Foreground" 1 true
      join
      echo "after the failure"
      """)
    #expect(outcome.status == 1)
    #expect(!outcome.output.contains("after the failure"))
  }

  @Test
  func `A check that fails beside the build fails the run`() throws {
    let script = """
      checks() { step "Checks" 1 $CHECK; }
      beside_or_end checks
      step "Build" 1 sleep $BUILD
      join
      echo "after the build"
      """
    let failed = try Self.run("CHECK=false BUILD=2\n" + script)
    #expect(failed.status == 1 && failed.output.contains("\"Checks\" failed"))
    #expect(!failed.output.contains("after the build"))
    let passed = try Self.run("CHECK=true BUILD=0\n" + script)
    #expect(passed.status == 0 && passed.output.contains("after the build"))
  }

  @Test(
    "The folder of tests is in memory, unless that is on a disk, absent or no place for programs")
  func testFolder() throws {
    let outcome = try Self.run(
      """
      TMPDIR=/usual
      awk() {
        if [ "${!#}" = /proc/mounts ]; then command awk "${@:1:3}" <<<"$MOUNTS"; else command awk "$@"; fi
      }
      df() { printf 'Filesystem\\n%s\\n' "tmpfs 9 9 $FREE 1% /"; }
      try() { MOUNTS="$1" FREE=$2 test_folder "$PWD" | sed "s:^$PWD$:memory:"; }
      try "tmpfs $PWD tmpfs rw,nosuid 0 0" 1048576
      try "tmpfs $PWD tmpfs rw,nosuid 0 0" 1048575
      try "tmpfs $PWD tmpfs rw,noexec 0 0" 1048576
      try "/dev/sda $PWD ext4 rw 0 0" 1048576
      MOUNTS= test_folder "$PWD/absent"
      """)
    #expect(outcome.status == 0)
    #expect(
      outcome.output.split(separator: "\n") == ["memory"] + Array(repeating: "/usual", count: 4))
  }

  @Test("the tests of the debug tree run one after the other, or a few at a time")
  func width() throws {
    let script = try #require(SourceTree.load("test")).lines.joined(separator: "\n")
      .replacing("\\\n", with: "")
    var count = 0
    for line in script.split(separator: "\n") where line.contains(#/ tests [a-z-]+ +-/#) {
      count += 1
      let isLimited =
        line.contains(" --no-parallel ") || line.contains(#/ --[a-z-]+-width [1-9] /#)
      #expect(isLimited, "thousands at once: \(line)")
    }
    #expect(count == 7)
  }

  /// The environment of `swift build` in `build_product`, as far as the scripts set it, and its last arguments.
  private static func build(_ lines: String) throws -> [String] {
    let outcome = try run(
      """
      mkdir bin
      cat >bin/swift <<'END'
      #!/bin/sh
      env | grep -E '^(AMBIT_(UN|PR)|SWIFT_D)' | sort >seen
      END
      chmod +x bin/swift
      PATH=$PWD/bin:$PATH
      \(lines)
      cat seen
      """)
    #expect(outcome.status == 0, "\(outcome.output)")
    return outcome.output.split(separator: "\n").map(String.init)
  }

  @Test("The first build of the command line in a clone fetches no packages of other programs")
  func firstBuild() throws {
    for program in ["ambit", "ambit-hub"] {
      #expect(
        try Self.build("build_product . \(program)") == [
          "AMBIT_PROGRAM=ambit,ambit-hub", "AMBIT_UNOPTIMIZED_COMMANDS=1",
          "SWIFT_DETERMINISTIC_HASHING=1",
        ])
    }
    let others = ["AMBIT_UNOPTIMIZED_COMMANDS=1", "SWIFT_DETERMINISTIC_HASHING=1"]
    #expect(try Self.build("build_product . ambit-page") == others)
    #expect(
      try Self.build("mkdir -p .build/checkouts/swift-nio; build_product . ambit") == others)
    #expect(
      try Self.build("build_product . ambit,ambit-page") == ["AMBIT_PRODUCTS=ambit,ambit-page"]
        + others)
  }

  @Test("Programs that are installed are optimized")
  func installedBuild() throws {
    #expect(
      try Self.build("build_product . ambit --scratch-path static") == [
        "SWIFT_DETERMINISTIC_HASHING=1"
      ])
  }

  @Test("The scripts run SwiftPM so that each plan has the same commands")
  func stablePlans() throws {
    for path in ["test", "scripts/setup.sh", "scripts/build-dns-sd", "Fuzz/run"] {
      let lines = try #require(SourceTree.load(path)).lines
      let builds = lines.filter { !$0.hasPrefix("#") && $0.contains(#/\bswift (build|package) /#) }
      #expect(!builds.isEmpty, "\(path) runs no SwiftPM")
      for line in builds {
        let isStable = ["${stable[@]}", "SWIFT_DETERMINISTIC_HASHING=1"].contains {
          line.contains($0)
        }
        #expect(isStable, "\(path): \(line)")
      }
    }
  }
}
