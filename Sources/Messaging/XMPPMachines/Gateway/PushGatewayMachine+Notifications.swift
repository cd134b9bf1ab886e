#if Messaging
  import Essentials
  import XMPPWire

  extension PushGatewayMachine {
    mutating func enqueueNotification(_ row: GatewayRow) {
      guard let target = row.message.target else { return }
      targets[target, default: TargetQueue()].rows.append(row.number)
      makeReady(target)
    }

    private mutating func makeReady(_ target: GatewayTarget) {
      guard let queue = targets[target], !queue.isBusy, queue.retry == nil, !queue.isEmpty,
        !queue.isReady
      else { return }
      targets[target]?.isReady = true
      ready.append(target)
    }

    /// A newer notification with the same collapse identifier replaces one that waits.
    mutating func replaceCollapsed(by row: GatewayRow, _ commit: inout GatewayCommit) {
      guard let target = row.message.target, let collapse = row.message.collapseIdentifier,
        let queue = targets[target]
      else { return }
      for number in queue.isBusy ? queue.rows.dropFirst() : queue.rows[...]
      where rows[number]?.message.collapseIdentifier == collapse {
        dropNotification(number, .done("replaced"), &commit)
      }
    }

    /// Gives up a notification that the manager doesn't have yet.
    mutating func dropNotification(
      _ number: Int64, _ state: GatewayState, _ commit: inout GatewayCommit
    ) {
      guard let row = rows[number], row.notification == .waiting, let target = row.message.target,
        let queue = targets[target], !(queue.isBusy && queue.rows.first == number)
      else { return }
      targets[target]?.rows.removeAll { $0 == number }
      set(.notification, of: number, state, &commit)
      forgetIfEmpty(target)
    }

    /// A server has something for the account of a device; nil if it is woken.
    mutating func requestWake(_ node: String) -> StanzaError? {
      let token = node.lowercased()
      guard GatewayTarget.isToken(token) else { return StanzaError(.cancel, .itemNotFound) }
      if let place = gone.firstIndex(of: token) {
        // Once: an app may register again, with the same token.
        gone.remove(at: place)
        return StanzaError(.cancel, .itemNotFound)
      }
      let target = GatewayTarget.token(token)
      guard targets[target]?.wantsWake != true else { return nil }
      guard wakeCount < limits.wakeCountMax else { return StanzaError(.wait, .resourceConstraint) }
      wakeCount += 1
      targets[target, default: TargetQueue()].wantsWake = true
      makeReady(target)
      return nil
    }

    mutating func sendNotifications(
      _ now: Instant, _ wall: WallTime, _ commit: inout GatewayCommit
    ) {
      while pushCount < limits.pushCountMax, managerRetry == nil, let target = ready.first {
        ready.removeFirst()
        targets[target]?.isReady = false
        guard let queue = targets[target] else { continue }
        if let number = queue.rows.first, let row = rows[number] {
          guard !isExpired(number, wall) else {
            dropNotification(number, .failed("expired"), &commit)
            makeReady(target)
            continue
          }
          begin(target, .message(number, row.message), &commit)
        } else if queue.wantsWake {
          // What comes while it is on its way may need another one.
          targets[target]?.wantsWake = false
          wakeCount -= 1
          begin(target, .wake, &commit)
        }
      }
    }

    private mutating func begin(
      _ target: GatewayTarget, _ content: GatewayPush.Content, _ commit: inout GatewayCommit
    ) {
      targets[target]?.isBusy = true
      pushCount += 1
      commit.then.append(.push(GatewayPush(target: target, content: content)))
    }

    mutating func pushed(
      _ push: GatewayPush, _ result: GatewayPushResult, _ now: Instant,
      _ commit: inout GatewayCommit
    ) {
      let target = push.target
      guard targets[target]?.isBusy == true else { return }
      pushCount -= 1
      targets[target]?.isBusy = false
      switch result {
      case .taken(let word): finish(push, .done(word), &commit)
      case .refused(let reason): finish(push, .failed(reason), &commit)
      case .notInstalled(let reason):
        finish(push, .failed(reason), &commit)
        if case .token(let token) = target, push.content == .wake { forget(token) }
      case .busy:
        keep(push, &commit)
        pause(target, now)
      case .unreachable(let reason):
        keep(push, &commit)
        if managerRetry == nil {
          if managerFailureCount == 0 { commit.then.append(.managerLost(reason)) }
          managerFailureCount += 1
          managerRetry = now + pause(after: managerFailureCount)
        }
        makeReady(target)
        forgetIfEmpty(target)
        return
      }
      managerFailureCount = 0
      makeReady(target)
      forgetIfEmpty(target)
    }

    private mutating func finish(
      _ push: GatewayPush, _ state: GatewayState, _ commit: inout GatewayCommit
    ) {
      targets[push.target]?.failureCount = 0
      guard case .message(let number, _) = push.content else { return }
      targets[push.target]?.rows.removeAll { $0 == number }
      set(.notification, of: number, state, &commit)
    }

    private mutating func forget(_ token: String) {
      guard !gone.contains(token) else { return }
      gone.append(token)
      if gone.count > limits.goneCountMax { gone.removeFirst() }
    }

    private mutating func keep(_ push: GatewayPush, _ commit: inout GatewayCommit) {
      switch push.content {
      case .message(let number, _):
        // The app has confirmed it meanwhile.
        if [.done("received"), .done("displayed")].contains(rows[number]?.stanza) {
          dropNotification(number, .done("notNeeded"), &commit)
        }
      case .wake:
        guard targets[push.target]?.wantsWake == false else { return }
        targets[push.target]?.wantsWake = true
        wakeCount += 1
      }
    }

    private mutating func pause(_ target: GatewayTarget, _ now: Instant) {
      guard var queue = targets[target] else { return }
      queue.failureCount += 1
      queue.retry = now + pause(after: queue.failureCount)
      targets[target] = queue
      pausing.append(target)
    }

    /// Doubled with each failure, and shorter by up to a quarter, so that gateways don't come together.
    private mutating func pause(after failureCount: Int) -> TimeSpan {
      let doubled = limits.firstPause * (1 << Int64(min(20, failureCount - 1)))
      let pause = min(limits.longestPause, doubled)
      return TimeSpan(nanoseconds: Int64(Double(pause.nanoseconds) * (1 - random.unit() / 4)))
    }

    mutating func wakeNotifications(_ now: Instant) {
      if let retry = managerRetry, retry <= now { managerRetry = nil }
      let due = pausing.filter { (targets[$0]?.retry ?? now) <= now }
      guard !due.isEmpty else { return }
      pausing.removeAll { due.contains($0) }
      for target in due {
        targets[target]?.retry = nil
        makeReady(target)
        forgetIfEmpty(target)
      }
    }

    private mutating func forgetIfEmpty(_ target: GatewayTarget) {
      guard let queue = targets[target], queue.isEmpty, queue.retry == nil else { return }
      targets[target] = nil
      if queue.isReady { ready.removeAll { $0 == target } }
    }
  }
#endif
