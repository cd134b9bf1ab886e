import BonjourHost
public import CDNSServiceDiscovery
import DNSWire
import DiscoveryMachines

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceRegister(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags,
  _ interfaceIndex: UInt32, _ name: UnsafePointer<CChar>?, _ regtype: UnsafePointer<CChar>?,
  _ domain: UnsafePointer<CChar>?, _ host: UnsafePointer<CChar>?, _ port: UInt16,
  _ txtLen: UInt16, _ txtRecord: UnsafeRawPointer?, _ callBack: DNSServiceRegisterReply?,
  _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  // A caller that refuses another name has to be notified of a conflict.
  guard callBack != nil || !flags.has(.noAutoRename) else { return ServiceError.badParameter.code }
  let kind = Reference.Kind.registration(isSilent: callBack == nil)
  return Reference.start(sdRef, flags, kind) { (reference) throws(ServiceError) in
    let (type, subtypes) = try Arguments.type(regtype)
    let domain = try Arguments.domain(domain, flags)
    let service: ServiceRegistration
    let text = try Arguments.text(txtRecord, txtLen)
    let target = try Arguments.host(host)
    let interface = try Arguments.interface(interfaceIndex)
    let instance = try Arguments.instance(name)
    do {
      service = try ServiceRegistration(
        try ServiceName(instance: instance, type: type, domain: domain), subtypes: subtypes,
        host: target, port: UInt16(bigEndian: port), text: text, interface: interface,
        conflictPolicy: flags.has(.noAutoRename) ? .refuse : .rename)
    } catch {
      throw .badParameter
    }
    guard let function = callBack else {
      reference.registration = try SharedHost.host().register(service) { _ in }
      return
    }
    let callback = try Callback(function, context)
    try reference.fail { error in
      Reply(reference: reference, flags: 0) { flags in
        callback.function(
          reference.handle, flags, error.code, nil, nil, nil, callback.context)
      }
    }
    let replies = RegisterReplies(
      reference: reference, callback: callback, type: type, requested: service.name.name)
    reference.registration = try SharedHost.host().register(service) { event in
      reference.replies.append([replies.reply(event)].compactMap { $0 })
    }
  }
}

extension Arguments {
  /// A service's name; the host's where none is given.
  fileprivate static func instance(_ text: Text?) throws(ServiceError) -> String {
    guard let text, text.pointee != 0 else { return BonjourConfiguration().hostName }
    return try string(text)
  }

  /// The host on which a service is; nil for this one.
  fileprivate static func host(_ text: Text?) throws(ServiceError) -> DNSName? {
    guard let text, text.pointee != 0 else { return nil }
    return try name(text)
  }
}

private struct RegisterReplies: Sendable {
  let reference: Reference
  let callback: Callback<DNSServiceRegisterReply>
  let type: ServiceType
  let requested: DNSName

  func reply(_ event: RegistrationEvent) -> Reply? {
    switch event {
    case .registered(let name): reply(name, .add, noError)
    case .refused(let name): reply(name, 0, ServiceError.nameConflict.code)
    case .failed: reply(requested, 0, ServiceError.noMemory.code)
    }
  }

  private func reply(
    _ name: DNSName, _ flags: DNSServiceFlags, _ error: DNSServiceErrorType
  ) -> Reply? {
    guard let instance = name.firstLabelAsText, let domain = name.dropFirst(3)?.description
    else { return nil }
    let type = "\(type)."
    return Reply(reference: reference, flags: flags) { [self] flags in
      callback.function(
        reference.handle, flags, error, instance, type, domain, callback.context)
    }
  }
}

// MARK: Single records

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceRegisterRecord(
  _ sdRef: DNSServiceRef?, _ recordRef: UnsafeMutablePointer<DNSRecordRef?>?,
  _ flags: DNSServiceFlags, _ interfaceIndex: UInt32, _ fullname: UnsafePointer<CChar>?,
  _ rrtype: UInt16, _ rrclass: UInt16, _ rdlen: UInt16, _ rdata: UnsafeRawPointer?,
  _ ttl: UInt32, _ callBack: DNSServiceRegisterRecordReply?, _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    let connection = try Reference.find(sdRef)
    guard let recordRef else { throw .badParameter }
    guard case .connection = connection.kind else { throw .badReference }
    recordRef.store(nil)
    guard !connection.replies.isOverrun else { throw .notRunning }
    let callback = try Callback(callBack, context)
    let data = try Arguments.record(DNSType(rawValue: rrtype), rdata, rdlen)
    guard DNSClass(rawValue: rrclass) == .in else { throw .badParameter }
    let registration = RecordRegistration(
      DNSRecord(
        name: try Arguments.name(fullname), ttlSeconds: Arguments.ttlSeconds(ttl, data.type),
        data: data),
      try Arguments.ownership(flags), interface: try Arguments.interface(interfaceIndex))
    let host = try SharedHost.host()
    let record = Record(data.type)
    let reply: @Sendable (DNSServiceErrorType) -> Reply = { code in
      Reply(reference: connection, flags: 0) { flags in
        guard !record.isEnded else { return }
        callback.function(connection.handle, record.handle, flags, code, callback.context)
      }
    }
    record.failing = { reply($0.code) }
    try connection.keep(record)
    recordRef.store(record.handle)
    let register: @Sendable () -> Void = {
      record.start {
        host.register(registration) { event in
          let code =
            switch event {
            case .registered: noError
            case .refused: ServiceError.nameConflict.code
            case .failed: ServiceError.noMemory.code
            }
          connection.replies.append([reply(code)])
        }
      }
    }
    if flags.has(.queueRequest) { connection.queue(register) } else { register() }
  }
}

extension Arguments {
  /// Whether other hosts may have records of the name and type: exactly one of the flags is set,
  /// but `KnownUnique` may be combined with `Unique`.
  fileprivate static func ownership(
    _ flags: DNSServiceFlags
  ) throws(ServiceError) -> RecordRegistration.Ownership {
    let isUnique = flags.has(.unique) || flags.has(.knownUnique)
    guard flags.has(.shared) != isUnique else { throw .badParameter }
    if flags.has(.shared) { return .shared }
    return flags.has(.knownUnique) ? .knownUnique : .unique
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceAddRecord(
  _ sdRef: DNSServiceRef?, _ recordRef: UnsafeMutablePointer<DNSRecordRef?>?,
  _ flags: DNSServiceFlags, _ rrtype: UInt16, _ rdlen: UInt16, _ rdata: UnsafeRawPointer?,
  _ ttl: UInt32
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    let reference = try Reference.find(sdRef)
    guard let recordRef else { throw .badParameter }
    guard let registration = reference.registration else { throw .badReference }
    recordRef.store(nil)
    let data = try Arguments.record(DNSType(rawValue: rrtype), rdata, rdlen)
    let number = reference.nextRecordNumber()
    let record = Record(data.type, number: number, of: registration)
    try reference.keep(record)
    registration.setRecord(
      number, data, ttlSeconds: Arguments.ttlSeconds(ttl, data.type))
    recordRef.store(record.handle)
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceUpdateRecord(
  _ sdRef: DNSServiceRef?, _ recordRef: DNSRecordRef?, _ flags: DNSServiceFlags,
  _ rdlen: UInt16, _ rdata: UnsafeRawPointer?, _ ttl: UInt32
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    let reference = try Reference.find(sdRef)
    guard let recordRef else {
      guard let registration = reference.registration else { throw .badReference }
      let text = try Arguments.text(rdata, rdlen)
      do throws(DNSWireError) { return try registration.update(text) } catch {
        throw .badParameter
      }
    }
    let record = try reference.record(recordRef)
    let data = try Arguments.record(record.type, rdata, rdlen)
    try record.update(data, ttlSeconds: Arguments.ttlSeconds(ttl, data.type))
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceRemoveRecord(
  _ sdRef: DNSServiceRef?, _ recordRef: DNSRecordRef?, _ flags: DNSServiceFlags
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    let reference = try Reference.find(sdRef)
    reference.removeRecord(try reference.record(recordRef))
  }
}
