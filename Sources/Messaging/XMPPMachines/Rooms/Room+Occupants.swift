#if Messaging
  import XMPPWire

  /// Presences of a room's occupants (XEP-0045, §7).
  extension Room {
    mutating func take(_ presence: PresenceStanza, _ shared: inout RoomShared) {
      lastHeard = shared.now
      let user = presence[RoomUser.self] ?? RoomUser()
      switch presence.kind {
      case .error:
        if let request = renaming?.request, presence.id?.text == request.id {
          return renamed(.ended(failure(presence)), &shared)
        }
        guard phase == .joining, presence.id == nil || presence.id?.text == awaited?.id else {
          return
        }
        awaited = nil
        joinFailed(presence, &shared)
      case .available:
        guard let name = presence.from?.resource else { return }
        add(name, user, &shared)
        guard user.statuses.contains(RoomUser.isSelf) else { return }
        if awaited?.purpose == .join { awaited = nil }
        nickname = name
        // A service may have changed the name that was wished for.
        if let request = renaming?.request,
          name == renaming?.nickname || presence.id?.text == request.id
        {
          renamed(nil, &shared)
        }
        occupantID = presence[OccupantID.self]?.id
        entered(user, &shared)
      case .unavailable:
        guard let name = presence.from?.resource else { return }
        let isSelf = user.statuses.contains(RoomUser.isSelf) || name == nickname
        // While the room is joined again, the end of an earlier stay may still come.
        if isSelf, phase.isInside { return leftOrRenamed(name, user, &shared) }
        remove(name, &shared)
      default: break
      }
    }

    private mutating func leftOrRenamed(
      _ name: String, _ user: RoomUser, _ shared: inout RoomShared
    ) {
      remove(name, &shared)
      if user.statuses.contains(RoomUser.renamed), let new = user.item?.nickname {
        nickname = new
        return
      }
      if phase == .leaving { return finishLeaving(&shared) }
      end(Self.reason(user), &shared)
    }

    private static func reason(_ user: RoomUser) -> RoomEnd {
      if let end = user.destruction { return .destroyed(alternate: end.alternate, end.reason) }
      let codes = user.statuses
      if codes.contains(RoomUser.banned) { return .banned(user.item?.reason) }
      // Services add 307 to removals for technical reasons, too.
      if codes.contains(RoomUser.technicalProblem) || codes.contains(RoomUser.shutDown) {
        return .interrupted
      }
      if codes.contains(RoomUser.kicked) { return .kicked(user.item?.reason) }
      if codes.contains(RoomUser.affiliationChanged) { return .affiliationChanged }
      if codes.contains(RoomUser.membersOnly) { return .membersOnly }
      // Another program of the account has left for all, or the service has lost this occupant.
      return .interrupted
    }

    private mutating func add(_ name: String, _ user: RoomUser, _ shared: inout RoomShared) {
      let occupant = Occupant(
        nickname: name, affiliation: user.item?.affiliation ?? .none,
        role: user.item?.role ?? .participant, account: user.item?.jid?.bare)
      guard occupants[name] != occupant else { return }
      if occupants[name] == nil {
        guard occupants.count < shared.limits.occupantsPerRoomMax,
          shared.occupantCount < shared.limits.occupantCountMax
        else {
          uncountedOccupants += 1
          if !isOccupantBoundReported {
            isOccupantBoundReported = true
            shared.notice(.problem(.tooManyOccupants(jid)))
          }
          return
        }
        shared.occupantCount += 1
      }
      occupants[name] = occupant
      shared.notice(.occupant(jid, nickname: name, occupant))
    }

    private mutating func remove(_ name: String, _ shared: inout RoomShared) {
      guard occupants.removeValue(forKey: name) != nil else {
        uncountedOccupants = max(0, uncountedOccupants - 1)
        return
      }
      shared.occupantCount -= 1
      shared.notice(.occupant(jid, nickname: name, nil))
    }

    mutating func clearOccupants(_ shared: inout RoomShared) {
      for name in occupants.keys.sorted() {
        shared.notice(.occupant(jid, nickname: name, nil))
      }
      shared.occupantCount -= occupants.count
      occupants = [:]
      uncountedOccupants = 0
      isOccupantBoundReported = false
      occupantID = nil
    }
  }
#endif
