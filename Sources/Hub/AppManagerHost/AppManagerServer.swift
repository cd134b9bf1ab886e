package import AppHubMachines
package import AppMachines
import AppSessions
package import BluetoothInterface
package import Essentials
package import EventLoop
import Glibc
import StateFiles

/// A running manager of apps: it starts, freezes, wakes and ends the apps of a user, and uses a radio for them while
/// they don't run.
///
/// It serves until it is closed or released, and ends the apps then. All methods may be called from any thread.
package final class AppManagerServer: Sendable {
  /// Where it listens.
  package let path: String
  private let core: LoopConfined<AppManagerCore>
  private let loop: EpollLoop

  private init(path: String, core: LoopConfined<AppManagerCore>, loop: EpollLoop) {
    self.path = path
    self.core = core
    self.loop = loop
  }

  deinit { loop.execute { [core] in core.value.close() } }

  /// Starts a manager.
  ///
  /// - Parameters:
  ///   - path: Where it listens; its folder is made. Core Bluetooth of apps finds it at the same path with `.hub`.
  ///   - provider: The radio's host, best with the same loop.
  ///   - store: The list of apps.
  ///   - storeRetry: When a write to it that has failed is tried again.
  ///   - freezer: How suspended apps are kept from running.
  ///   - limits: The times and bounds of apps.
  ///   - serviceLimits: Those of tasks and notifications.
  ///   - socketTimes: How soon silent peers of held sockets are given up.
  ///   - descriptors: Keeps held sockets over a restart.
  ///   - alerts: How alerts are shown.
  ///   - memory: Where the kernel reports that memory is short.
  ///   - loop: The loop on which it works. Processes are looked at there, too.
  ///   - onReport: Called on the loop with a sentence for the log.
  /// - Throws: If it can't listen, another manager does, or the lists of the last one can't be read. The processes of apps go
  ///   on then, and the service manager keeps their sockets: a later start takes them over.
  package static func start(
    at path: String, _ provider: any HostSessionProvider, store: any AppStore,
    storeRetry: TimeSpan = .seconds(30), freezer: AppFreezer = .best,
    limits: AppLimits = AppLimits(),
    serviceLimits: AppServiceLimits = AppServiceLimits(),
    socketTimes: HeldSocketTimes = HeldSocketTimes(), descriptors: DescriptorStore = .none,
    alerts: AppAlertStyle = .terminal, memory: MemoryFiles = MemoryFiles(),
    on loop: EpollLoop = .shared,
    onReport: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws(AppManagerServerError) -> AppManagerServer {
    // Not on the loop, where a hub's answer isn't waited for.
    let isSimulated = provider.isSimulated
    let result = await loop.result { () throws(AppManagerServerError) in
      let claim = try AppManagerClaim(path)
      let last: LastManager
      do throws(AppManagerServerError) { last = try LastManager(at: path) } catch {
        claim.release()
        store.close()
        throw error
      }
      ProcessTable.setAdoptsOrphans(true)
      freezer.removeLeftovers(at: path, but: Set(last.processes.map(\.mark)))
      let core = AppManagerCore(
        at: path, provider, store, retriesAfter: storeRetry, freezer, limits: limits,
        serviceLimits: serviceLimits,
        socketTimes: socketTimes, descriptors: descriptors, alerts: alerts, memory: memory,
        isSimulated: isSimulated, on: loop, onReport: onReport)
      // First, since a task of an app may be due, whose process connects.
      do throws(AppManagerServerError) { try core.listen(claim) } catch {
        store.close()
        throw error
      }
      do throws(AppManagerServerError) { try core.begin(after: last) } catch {
        core.sockets.close()
        core.stopListening()
        store.close()
        throw error
      }
      return LoopConfined(core, to: loop)
    }
    return AppManagerServer(path: path, core: try result.get(), loop: loop)
  }

  /// Ends all apps, and removes the sockets.
  ///
  /// - Parameter leavesApps: Whether the processes of apps go on, for the next manager at this path. They end by
  ///   themselves if none comes, but for those that are suspended.
  package func close(leavesApps: Bool = false) async {
    await withCheckedContinuation { continuation in
      loop.execute { [core] in
        core.value.close(leavesApps: leavesApps)
        continuation.resume()
      }
    }
  }
}

extension EpollLoop {
  /// Runs something on the loop, and returns its result.
  fileprivate func result<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async -> Result<Value, Failure> {
    await withCheckedContinuation { continuation in
      execute {
        let result: Result<Value, Failure>
        do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
        continuation.resume(returning: result)
      }
    }
  }
}

/// Why a manager of apps can't be started.
package enum AppManagerServerError: Error, Hashable, Sendable {
  /// Another manager listens at the path.
  case isTaken(String)
  case cannotListen(String, SystemError)
  case noSocket(String)
  case pathTooLong(String)
  /// Others may change the folder of the socket.
  case unsafeFolder(String)
  /// The list of apps can't be read, for a reason.
  case store(String)
  /// A list of the last manager's can't be read, for a reason.
  case list(String, String)
  /// The processes of the last manager can't be looked at.
  case processes(SystemError)
  /// The held sockets of the last manager can't be watched.
  case sockets(SystemError)

  /// A sentence without a full stop.
  package var sentence: String {
    switch self {
    case .isTaken(let path): "another manager of apps runs at \(path)"
    case .cannotListen(let path, let error):
      "the manager of apps can't listen at \(path): \(error.text)"
    case .noSocket(let path): "\(path) exists and is no socket"
    case .pathTooLong(let path):
      "the path \(path) of a socket is longer than \(SocketAddress.unixPathByteCountMax) bytes"
    case .unsafeFolder(let folder): "others may change the folder \(folder)"
    case .store(let reason): "the list of apps can't be read: \(reason)"
    case .list(let list, let reason):
      "the list of \(list) that the last manager of apps has left can't be read: \(reason)"
    case .sockets(let error): "the held sockets can't be taken over: \(error.text)"
    case .processes(let error):
      "the processes of apps that run on can't be taken over: \(error.text)"
    }
  }
}

/// The claim of a manager to its path: a lock of a file beside the socket, until the process ends, however it ends.
struct AppManagerClaim {
  let path: String
  private let lock: Int32

  /// Makes the folder, takes the lock, and removes the sockets of a manager that has ended.
  init(_ path: String) throws(AppManagerServerError) {
    self.path = path
    let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/")
    if mkdir(folder, 0o700) != 0, errno != EEXIST { throw .cannotListen(path, .current) }
    var information = stat()
    guard lstat(folder, &information) == 0 else { throw .cannotListen(path, .current) }
    guard information.st_mode & S_IFMT == S_IFDIR, information.st_uid == geteuid(),
      information.st_mode & 0o022 == 0
    else { throw .unsafeFolder(folder) }
    lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else { throw .cannotListen(path, .current) }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      let error = SystemError.current
      close(lock)
      throw error.number == EWOULDBLOCK ? .isTaken(path) : .cannotListen(path, error)
    }
    for socket in [
      path, AppManagerPlace.hub(beside: path), AppManagerPlace.sockets(beside: path),
    ] {
      do throws(UNIXSocketFile.Obstacle) { try UNIXSocketFile.removeStale(at: socket) } catch {
        close(lock)
        throw error == .isListenedAt ? .isTaken(socket) : .noSocket(socket)
      }
    }
  }

  func release() {
    _ = flock(lock, LOCK_UN)
    close(lock)
  }
}

extension AppManagerCore {
  /// Begins to accept connections.
  func listen(_ claim: AppManagerClaim) throws(AppManagerServerError) {
    do throws(AppManagerServerError) {
      try listen(at: path) { [weak self] in self?.accept($0) }
      try listen(at: AppManagerPlace.hub(beside: path)) { [weak self] in self?.acceptHub($0) }
      try listen(at: AppManagerPlace.sockets(beside: path)) { [weak self] in
        self?.sockets.accept($0)
      }
    } catch {
      stopListening()
      claim.release()
      throw error
    }
    self.claim = claim
  }

  private func listen(
    at path: String, _ onAccept: @escaping (Int32) -> Void
  ) throws(AppManagerServerError) {
    guard let address = SocketAddress(path: path) else { throw .pathTooLong(path) }
    do throws(SystemError) {
      let listener = try StreamListener(
        at: address, permissions: 0o600, on: loop, onAccept: onAccept)
      listeners.append((listener, path, UNIXSocketFile.Identity(at: path)))
    } catch { throw .cannotListen(path, error) }
  }

  func stopListening() {
    for (listener, path, identity) in listeners {
      listener.close()
      if let identity { UNIXSocketFile.remove(path, if: identity) }
    }
    listeners = []
    claim?.release()
    claim = nil
  }
}
