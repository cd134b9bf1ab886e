import AppLifecycle
import AppMachines
import AppSessions
import Dispatch
import Essentials
import Foundation

/// The code of an app: how its processes begin.
struct AppCode: Sendable {
  /// Makes the object of an app without an application delegate.
  struct Launch: Sendable {
    let make: @MainActor @Sendable (SimulatedLaunch) -> AnyObject
  }

  /// Makes the delegate.
  struct Delegate: Sendable {
    let make: @MainActor @Sendable () -> any UIApplicationDelegate
  }

  private enum Kind: Sendable {
    case launch(Launch, AppRoot)
    case delegate(Delegate)
  }

  private let kind: Kind

  init(_ launch: Launch) { kind = .launch(launch, AppRoot()) }
  init(_ delegate: Delegate) { kind = .delegate(delegate) }

  /// Nil for a closure that uses a value of its surroundings, or that belongs to another file than this module: only
  /// this process can run it.
  var address: AppCodeAddress? {
    switch kind {
    case .launch(let launch, _): AppCodeAddress(launch)
    case .delegate(let delegate): AppCodeAddress(delegate)
    }
  }

  /// Begins a process that was started at a time.
  @MainActor func begin(_ session: AppSession, _ time: Instant) {
    switch kind {
    case .launch(let launch, let root):
      session.run { command, done in
        DispatchQueue.main.async {
          MainActor.assumeIsolated {
            root.handle(command, session) { launch.make(SimulatedLaunch($0, time)) }
          }
          done()
        }
      }
    case .delegate(let delegate): UIApplication.begin(session, delegate: delegate.make)
    }
  }

  @MainActor func end() {
    switch kind {
    case .launch(_, let root): root.object = nil
    case .delegate: UIApplication.reset()
    }
  }
}

/// What an app without an application delegate consists of.
@MainActor
private final class AppRoot {
  var object: AnyObject?

  nonisolated init() {}

  func handle(
    _ command: AppSession.Command, _ session: AppSession,
    _ launch: @MainActor (AppLaunch) -> AnyObject
  ) {
    switch command {
    case .start(let start):
      object = launch(start)
      session.report(.launched)
    case .terminate:
      object = nil
      session.report(.exited(.status(0), hasOthers: false))
    case .transition, .expire, .expireTask: break
    }
  }
}

/// Where the code of an app is in this program, the same in each process of it: the distance of its closure's function
/// from a function of this module.
///
/// A closure that uses nothing of its surroundings is a function and an empty context. Another process of the same
/// program has the same function at the same distance, whatever addresses the system has chosen.
struct AppCodeAddress: Codable, Sendable {
  private var distance: Int
  private var isDelegate: Bool

  /// Two words: the function and the context.
  private typealias Words = (function: UInt, context: UInt)

  fileprivate init?(_ launch: AppCode.Launch) {
    self.init(unsafeBitCast(launch, to: Words.self), isDelegate: false)
  }

  fileprivate init?(_ delegate: AppCode.Delegate) {
    self.init(unsafeBitCast(delegate, to: Words.self), isDelegate: true)
  }

  private init?(_ words: Words, isDelegate: Bool) {
    guard words.context == 0,
      let files = MappedFiles.ofProgram, let file = files.path(of: words.function),
      file == files.path(of: Self.origin)
    else { return nil }
    distance = Int(bitPattern: words.function &- Self.origin)
    self.isDelegate = isDelegate
  }

  /// The same code in this process, which runs the program that the address is of.
  var code: AppCode {
    let words: Words = (Self.origin &+ UInt(bitPattern: distance), 0)
    return isDelegate
      ? AppCode(unsafeBitCast(words, to: AppCode.Delegate.self))
      : AppCode(unsafeBitCast(words, to: AppCode.Launch.self))
  }

  private static var origin: UInt {
    let function: @convention(c) () -> Void = markOrigin
    return UInt(bitPattern: unsafeBitCast(function, to: Int.self))
  }
}

/// The files of which this process has parts in its memory, by /proc/self/maps (proc_pid_maps(5)).
private struct MappedFiles {
  private var files: [(range: Range<UInt>, path: Substring)] = []

  static var ofProgram: MappedFiles? {
    guard let text = try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8) else {
      return nil
    }
    var found = MappedFiles()
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
      let ends = fields.first?.split(separator: "-").compactMap { UInt($0, radix: 16) } ?? []
      guard fields.count == 6, ends.count == 2, ends[0] < ends[1] else { continue }
      found.files.append((ends[0]..<ends[1], fields[5]))
    }
    return found
  }

  func path(of address: UInt) -> Substring? { files.first { $0.range.contains(address) }?.path }
}

private func markOrigin() {}
