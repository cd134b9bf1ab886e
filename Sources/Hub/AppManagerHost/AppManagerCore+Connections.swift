import AppHubMachines
import AppMachines
import AppSessions
import Essentials
import EventLoop
import Glibc

// Connections: those of processes of apps, as apps and as programs of a hub, and those of commands.

extension AppManagerCore {
  /// A program has connected to the manager's socket. It is known by its first message.
  func accept(_ descriptor: Int32) {
    guard let peer = PeerCredentials(of: descriptor), peer.userID == geteuid(),
      hasRoom(for: peer.processID)
    else {
      Glibc.close(descriptor)
      return
    }
    let connection = AppCommandConnection(processID: peer.processID)
    do throws(SystemError) {
      connection.channel = try ByteChannel(
        owning: descriptor, on: loop,
        onRead: { [weak self, weak connection] bytes in
          guard let connection else { return }
          self?.received(bytes, on: connection)
        },
        onEnd: { [weak self, weak connection] _ in
          guard let connection else { return }
          self?.ended(connection)
        })
      connections[ObjectIdentifier(connection)] = connection
    } catch { return }
    connection.deadline = loop.makeTimer { [weak self, weak connection] in
      guard let self, let connection else { return }
      ended(connection)
    }
    connection.deadline?.set(.now + Self.greetingTime)
  }

  /// The maximum number of connections whose first message has not come, and of commands.
  private static let connectionCountMax = 128
  private static let greetingTime = TimeSpan.seconds(10)

  /// Commands that wait must not keep a process of an app from connecting.
  private func hasRoom(for processID: pid_t) -> Bool {
    let count = connections.values.count { $0.program == nil }
    guard count >= Self.connectionCountMax else { return true }
    guard count < 2 * Self.connectionCountMax else { return false }
    return program(withProcess: processID).map { !$0.hasConnected } ?? false
  }

  private func received(_ bytes: [UInt8], on connection: AppCommandConnection) {
    if let program = connection.program {
      connection.reader.append(bytes)
      return readMessages(of: program, connection)
    }
    // A command has one message. More of it has no effect, and is not kept.
    guard !connection.isGreeted else { return }
    connection.reader.append(bytes)
    do throws(AppFrameError) {
      guard let greeting = try connection.reader.next(AppManagerGreeting.self) else { return }
      connection.isGreeted = true
      connection.deadline?.cancel()
      switch greeting {
      case .app(AppManagerGreeting.version): welcome(connection)
      case .command(AppManagerGreeting.version, let command): perform(command, connection)
      case .app: connection.refuse("The library of the app has another version than its manager.")
      case .command:
        connection.finish(.failed(.invalid, "the manager of apps has another version"))
      }
    } catch { ended(connection) }
  }

  private func ended(_ connection: AppCommandConnection) {
    connection.deadline?.cancel()
    connection.channel?.close()
    connections[ObjectIdentifier(connection)] = nil
    if let app = connection.watched { stopWatching(app, connection) }
    // The machine ends a process that reports nothing, by its times.
    if let program = connection.program, program.session === connection.channel {
      program.session = nil
    }
  }

  /// The terminal in which an app was opened is gone: the person has left the app.
  private func stopWatching(_ app: AppID, _ connection: AppCommandConnection) {
    watchers[app]?.removeAll { $0 === connection }
    guard watchers[app]?.isEmpty ?? false else { return }
    watchers[app] = nil
    handle(.life(.person(app, .sentToBackground)))
  }

  // MARK: Processes of apps

  private func welcome(_ connection: AppCommandConnection) {
    guard let program = program(withProcess: connection.processID), !program.hasConnected,
      let channel = connection.channel
    else {
      return connection.refuse("The manager of apps has not started this process.")
    }
    connection.program = program
    connection.reader.byteCountMax = AppFrame.byteCountMax
    channel.onDrain = { [weak channel] in channel?.isReading = true }
    program.connected(channel)
    readMessages(of: program, connection)
  }

  private func readMessages(of program: AppProgram, _ connection: AppCommandConnection) {
    do throws(AppFrameError) {
      while let message = try connection.reader.next(AppProcessMessage.self) {
        received(message, from: program)
      }
    } catch { violated(program) }
  }

  /// The app's program to which a process belongs.
  func program(withProcess processID: pid_t) -> AppProgram? {
    for ancestor in ProcessTable.ancestry(of: processID) {
      if let found = programs.values.first(where: { $0.processID == ancestor && !$0.hasExited }) {
        return found
      }
    }
    return nil
  }

  /// A program has connected to the hub's socket.
  func acceptHub(_ descriptor: Int32) {
    guard let peer = PeerCredentials(of: descriptor), peer.userID == geteuid(),
      let program = program(withProcess: peer.processID), program.hub == nil
    else {
      Glibc.close(descriptor)
      return
    }
    let id = program.id
    do throws(SystemError) {
      let channel = try ByteChannel(
        owning: descriptor, on: loop, expectsPromptEvents: true,
        onRead: { [weak self] in self?.handle(.received(id, $0)) },
        onEnd: { [weak self] _ in
          self?.programs[id]?.hub = nil
          self?.handle(.disconnected(id))
        })
      channel.onDrain = { [weak channel] in channel?.isReading = true }
      program.hub = channel
    } catch { return }
    handle(.connected(id))
  }
}

/// A connection with the manager's socket: of a command, or of a process of an app. Used on the manager's loop only.
final class AppCommandConnection {
  let processID: pid_t
  var channel: ByteChannel?
  var reader = AppFrame.Reader()
  var deadline: (any LoopTimer)?
  var isGreeted = false
  /// Of a process of an app.
  var program: AppProgram?
  /// The app whose output is shown.
  var watched: AppID?
  private var droppedLineCount = 0

  /// How much waits for a terminal that takes nothing; more lines are dropped and counted.
  private static let waitingByteCountMax = 1 << 20
  /// How long a command may take to read its last reply.
  private static let closingTime = TimeSpan.seconds(10)

  init(processID: pid_t) { self.processID = processID }

  /// Sends a reply that others follow.
  func send(_ reply: AppCommandReply) {
    guard let channel else { return }
    if channel.pendingByteCount > Self.waitingByteCountMax, case .output = reply {
      droppedLineCount += 1
      return
    }
    if droppedLineCount > 0 {
      channel.write(
        AppFrame.bytes(of: AppCommandReply.output("… dropped lines: \(droppedLineCount)")))
      droppedLineCount = 0
    }
    channel.write(AppFrame.bytes(of: reply))
  }

  /// Sends the last reply. The command closes the connection, or else the manager after a time.
  func finish(_ reply: AppCommandReply) {
    watched = nil
    send(reply)
    deadline?.set(.now + Self.closingTime)
  }

  func refuse(_ sentence: String) {
    channel?.write(AppFrame.bytes(of: AppManagerMessage.refused(sentence)))
    deadline?.set(.now + Self.closingTime)
  }
}
