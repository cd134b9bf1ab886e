import AppHubMachines
import AppMachines
import AppSessions
import Essentials
import EventLoop
import Glibc

/// A process of an app that the manager has started, with those that this one has started. Used on the manager's loop
/// only.
final class AppProgram {
  let id: AppProcessID
  let bundle: AppBundle
  /// The value of the variable by which its processes are known.
  let mark: String
  let group: AppProcessGroup
  /// Its connection as an app; nil before it has connected.
  var session: ByteChannel?
  /// Whether it has connected with this manager. A process that connects again has lost what it was told in between.
  private(set) var hasConnected = false
  /// Its connection with the manager as its hub.
  var hub: ByteChannel?
  /// Instructions that came before its connection.
  private var waiting: [AppInstruction] = []
  /// What it was given besides Core Bluetooth and has not handled, in order.
  private var given: [AppDeliveryNumber] = []
  private var end: WatchedDescriptor?
  private var output: ByteChannel?
  private var outputDescriptor: Int32 = -1
  /// Processes that are waited for after the end of the first one.
  private var others: [WatchedDescriptor] = []
  /// Whether the first process has ended, and was reaped.
  var hasExited: Bool { group.isReaped }
  /// Processor time of the first process and those that it waited for, once it has ended.
  private(set) var endedProcessorTime = 0.0

  init(id: AppProcessID, bundle: AppBundle, mark: String, group: AppProcessGroup) {
    self.id = id
    self.bundle = bundle
    self.mark = mark
    self.group = group
  }

  var processID: pid_t { group.first.processID }

  /// When its first process was started, in ticks since the boot; nil if that one is gone.
  private(set) lazy var startTime = ProcessTable.entry(of: processID)?.startTime

  /// Watches the end of the first process, and its output.
  ///
  /// - Parameters:
  ///   - readable: The readable end of the pipe of its output, which this owns from now on; nil without one.
  ///   - onOutput: Called with bytes, and with none at the end.
  ///   - onEnd: Called once when the first process has ended.
  func watch(
    output readable: Int32?, on loop: EpollLoop, onOutput: @escaping ([UInt8]) -> Void,
    onEnd: @escaping () -> Void
  ) throws(SystemError) {
    if let readable {
      outputDescriptor = readable
      group.hasOutput(readable)
      output = try ByteChannel(
        owning: readable, on: loop, onRead: onOutput, onEnd: { _ in onOutput([]) })
    }
    end = try WatchedDescriptor(owning: try group.first.duplicate(), on: loop) { [weak self] _ in
      self?.end?.close()
      self?.end = nil
      onEnd()
    }
  }

  /// The output that has come and was not reported, up to what a pipe holds.
  func takeOutput() -> [UInt8] {
    guard output?.isOpen ?? false else { return [] }
    return [UInt8](unsafeUninitializedCapacity: Self.pipeByteCount) { buffer, count in
      count = max(0, read(outputDescriptor, buffer.baseAddress, buffer.count))
    }
  }

  private static let pipeByteCount = 1 << 16

  /// Reaps the first process, which has ended.
  func reap() -> AppExit {
    var status: Int32 = 0
    var usage = rusage()
    var result: pid_t
    repeat { result = wait4(processID, &status, 0, &usage) } while result < 0 && errno == EINTR
    group.isReaped = true
    guard result == processID else {
      // Another process reaps one that was taken over.
      group.first.awaitEnd()
      return .signal(SIGKILL)
    }
    endedProcessorTime = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
    let signal = status & 0x7F
    return signal == 0 ? .status(status >> 8 & 0xFF) : .signal(signal)
  }

  private static func seconds(_ time: timeval) -> Double {
    Double(time.tv_sec) + Double(time.tv_usec) / 1e6
  }

  /// Seconds of processor time up to now.
  func processorTime(_ known: ProcessTable.KnownProcesses) -> Double {
    let running = group.left(known).reduce(UInt64(0)) { $0 &+ $1.processorTime }
    return endedProcessorTime + Double(running) / ProcessTable.ticksPerSecond
  }

  /// Calls back when the processes have ended that are left; at once if there are none.
  func awaitOthers(on loop: EpollLoop, _ onGone: @escaping () -> Void) {
    for other in others { other.close() }
    others = []
    for entry in group.left {
      guard let process = ProcessDescriptor.open(entry), let descriptor = try? process.duplicate()
      else {
        continue
      }
      let watched = try? WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
        // It is this process's child where its parent has ended.
        _ = process.reap()
        self?.awaitOthers(on: loop, onGone)
      }
      if let watched {
        others.append(watched)
        return
      }
    }
    group.reapAdopted()
    onGone()
  }

  // MARK: Instructions

  /// Gives it an instruction, once it has connected.
  func instruct(_ instruction: AppInstruction) {
    guard let session else { return waiting.append(instruction) }
    session.write(AppFrame.bytes(of: AppManagerMessage.instruct(instruction)))
  }

  func give(_ delivery: AppDelivery, _ number: AppDeliveryNumber) {
    given.append(number)
    instruct(.deliver([delivery]))
  }

  /// The numbers of the next deliveries that it has handled.
  func takeGiven(_ count: Int) -> ArraySlice<AppDeliveryNumber> {
    let count = min(max(count, 0), given.count)
    defer { given.removeFirst(count) }
    return given.prefix(count)
  }

  /// It has connected.
  func connected(_ channel: ByteChannel) {
    session = channel
    hasConnected = true
    channel.write(AppFrame.bytes(of: AppManagerMessage.welcome(bundle.infoPlist)))
    let instructions = waiting
    waiting = []
    for instruction in instructions { instruct(instruction) }
  }

  /// Releases what it has open.
  func close() {
    for other in others { other.close() }
    others = []
    session?.close()
    hub?.close()
    output?.close()
    end?.close()
    (session, hub, output, end) = (nil, nil, nil, nil)
  }
}
