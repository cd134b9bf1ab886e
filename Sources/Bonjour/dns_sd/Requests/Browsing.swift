import BonjourHost
public import CDNSServiceDiscovery
import DNSWire
import DiscoveryMachines

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceBrowse(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags,
  _ interfaceIndex: UInt32, _ regtype: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?,
  _ callBack: DNSServiceBrowseReply?, _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  Reference.start(sdRef, flags, .query) { (reference) throws(ServiceError) in
    let callback = try Callback(callBack, context)
    try reference.fail { error in
      Reply(reference: reference, flags: 0) { flags in
        callback.function(
          reference.handle, flags, 0, error.code, nil, nil, nil, callback.context)
      }
    }
    let replies = BrowseReplies(reference: reference, callback: callback)
    let interface = try Arguments.interface(interfaceIndex)
    let domain = try Arguments.domain(domain, flags)
    // A type with a long subtype behind it is no name.
    if (try? Arguments.name(regtype)) == "_services._dns-sd._udp." {
      let request = QueryRequest.serviceTypes(domain: domain)
      return try reference.startQuery(request, on: interface, flags, replies.reply)
    }
    let (type, subtypes) = try Arguments.type(regtype)
    guard subtypes.count <= 1,
      subtypes.allSatisfy({ (try? type.name(ofSubtype: $0, in: domain)) != nil })
    else { throw .badParameter }
    let request = QueryRequest.browse(type, subtype: subtypes.first, domain: domain)
    try reference.startQuery(request, on: interface, flags, replies.reply)
  }
}

private struct BrowseReplies: Sendable {
  let reference: Reference
  let callback: Callback<DNSServiceBrowseReply>

  func reply(_ found: FoundEvent) -> Reply? {
    let interface = found.interfaceIndex
    switch found.event {
    case .serviceAdded(let name): return reply(name.name, .add, interface)
    case .serviceRemoved(let name): return reply(name.name, 0, interface)
    case .typeAdded(let type): return reply(type, .add, interface)
    case .typeRemoved(let type): return reply(type, 0, interface)
    default: return nil
    }
  }

  /// The first label, the next two, and the rest: so types come as Apple's have always come, with
  /// `_tcp.local.` for a type and the root for a domain.
  private func reply(_ name: DNSName, _ flags: DNSServiceFlags, _ interface: UInt32) -> Reply? {
    guard let instance = name.firstLabelAsText, let rest = name.parent,
      let domain = rest.dropFirst(2),
      let type = try? DNSName(labels: rest.labels.prefix(2))
    else { return nil }
    let (typeText, domainText) = (type.description, domain.description)
    return Reply(reference: reference, flags: flags) { [self] flags in
      callback.function(
        reference.handle, flags, interface, noError, instance, typeText, domainText,
        callback.context)
    }
  }

  private func reply(
    _ type: ServiceType, _ flags: DNSServiceFlags, _ interface: UInt32
  ) -> Reply? {
    guard let name = try? type.name(in: .local) else { return nil }
    return reply(name, flags, interface)
  }
}

extension FoundEvent {
  /// The interface as C has it; 0 for results that are the same on all interfaces.
  var interfaceIndex: UInt32 { interface?.rawValue ?? UInt32(kDNSServiceInterfaceIndexAny) }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceResolve(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags,
  _ interfaceIndex: UInt32, _ name: UnsafePointer<CChar>?, _ regtype: UnsafePointer<CChar>?,
  _ domain: UnsafePointer<CChar>?, _ callBack: DNSServiceResolveReply?,
  _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  Reference.start(sdRef, flags, .query) { (reference) throws(ServiceError) in
    let callback = try Callback(callBack, context)
    try reference.fail { error in
      Reply(reference: reference, flags: 0) { flags in
        callback.function(
          reference.handle, flags, 0, error.code, nil, nil, 0, 0, nil, callback.context)
      }
    }
    guard domain != nil else { throw .badParameter }
    let (type, subtypes) = try Arguments.type(regtype)
    guard subtypes.isEmpty else { throw .badParameter }
    let service = try Arguments.service(name, type, try Arguments.domain(domain, flags))
    let interface = try Arguments.interface(interfaceIndex)
    try reference.startQuery(.resolve(service), on: interface, flags) { found in
      guard case .resolved(let resolution) = found.event else { return nil }
      let (name, host) = (resolution.name.description, resolution.host.description)
      let text = resolution.text.wireBytes
      return Reply(reference: reference, flags: 0) { flags in
        callback.function(
          reference.handle, flags, found.interfaceIndex, noError, name, host,
          resolution.port.bigEndian, UInt16(truncatingIfNeeded: text.count), text, callback.context)
      }
    }
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceEnumerateDomains(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags,
  _ interfaceIndex: UInt32, _ callBack: DNSServiceDomainEnumReply?,
  _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  Reference.start(sdRef, flags, .query) { (reference) throws(ServiceError) in
    let callback = try Callback(callBack, context)
    try reference.fail { error in
      Reply(reference: reference, flags: 0) { flags in
        callback.function(reference.handle, flags, 0, error.code, nil, callback.context)
      }
    }
    guard flags.has(.browseDomains) != flags.has(.registrationDomains) else { throw .badParameter }
    let (all, usual): (DomainUse, DomainUse) =
      flags.has(.browseDomains)
      ? (.browsing, .defaultBrowsing) : (.registration, .defaultRegistration)
    let interface = try Arguments.interface(interfaceIndex)
    let reply: @Sendable (DNSName, DNSServiceFlags, UInt32) -> Reply = { domain, flags, interface in
      let domain = domain.description
      return Reply(reference: reference, flags: flags) { flags in
        callback.function(
          reference.handle, flags, interface, noError, domain, callback.context)
      }
    }
    try reference.startQuery(.domains(all), on: interface, flags) { found in
      switch found.event {
      // The domain that exists without a record is the default one.
      case .domainAdded(.local): reply(.local, .add | .defaultDomain, found.interfaceIndex)
      case .domainAdded(let domain): reply(domain, .add, found.interfaceIndex)
      case .domainRemoved(let domain): reply(domain, 0, found.interfaceIndex)
      default: nil
      }
    }
    try reference.startQuery(.domains(usual), on: interface, flags) { found in
      switch found.event {
      case .domainAdded(.local): nil
      case .domainAdded(let domain): reply(domain, .add | .defaultDomain, found.interfaceIndex)
      case .domainRemoved(let domain): reply(domain, .defaultDomain, found.interfaceIndex)
      default: nil
      }
    }
  }
}
