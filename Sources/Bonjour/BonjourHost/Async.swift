// Not in libdns_sd.so.1, which has no tasks: those would bring 0.7 MB of Swift and Dispatch along.
#if !AMBIT_WITHOUT_TASKS
  public import DiscoveryMachines
  import EventLoop

  extension BonjourHost {
    /// Unregisters all services and records with goodbye records, and stops the host. No callback
    /// is called afterwards.
    public func close() async {
      await withCheckedContinuation { continuation in
        engine.onLoop { $0.stop { continuation.resume() } }
      }
    }

    /// The names and indices of the interfaces that the host uses.
    public var interfaces: [InterfaceIndex: String] {
      get async {
        await withCheckedContinuation { continuation in
          engine.onLoop { continuation.resume(returning: $0.interfaceNames) }
        }
      }
    }

    /// The interfaces that the host uses, once they are known; nil if the host is closed before, or
    /// if the owner rejects it.
    public var knownInterfaces: [InterfaceIndex: String]? {
      get async {
        await withCheckedContinuation { continuation in
          engine.onLoop { $0.whenInterfacesKnown { continuation.resume(returning: $0) } }
        }
      }
    }

    /// Whether the machines that work for the host do so now. If they are those of another process,
    /// that has five seconds to answer.
    package var availability: Availability {
      get async {
        await withCheckedContinuation { continuation in
          engine.onLoop { $0.whenAvailable { continuation.resume(returning: $0) } }
        }
      }
    }

    /// How the host takes part, once it does.
    var settledRole: BonjourEngine.Role {
      get async {
        await withCheckedContinuation { continuation in
          engine.onLoop { $0.whenSettled { continuation.resume(returning: $0) } }
        }
      }
    }

    /// The role of the host as a word, for measurements: owner, alone or client.
    package var roleName: String {
      get async { "\(await settledRole)" }
    }
  }

  extension BonjourHub {
    /// Stops listening, and hands over what programs have registered: they get no goodbye records,
    /// since the programs go on.
    package func close() async {
      await withCheckedContinuation { continuation in close { continuation.resume() } }
    }
  }

  extension LinkLocalHost {
    /// Starts configuring an interface.
    ///
    /// - Parameters:
    ///   - interfaceName: The name of the interface, such as `eth0`. It may be down, and may
    ///     disappear and return later.
    ///   - configuration: The address to try first, and where addresses are stored.
    ///   - onEvent: Called on the event loop of this process, serially; must not block.
    /// - Throws: ``LinkLocalError`` where it cannot start.
    public static func start(
      on interfaceName: String, configuration: LinkLocalConfiguration = LinkLocalConfiguration(),
      onEvent: @escaping @Sendable (LinkLocalEvent) -> Void
    ) async throws(LinkLocalError) -> LinkLocalHost {
      let driver = LinkLocalDriver(
        interfaceName, configuration: configuration, on: .shared, onEvent: onEvent)
      let error = await withCheckedContinuation { continuation in
        driver.onLoop { $0.start { continuation.resume(returning: $0) } }
      }
      if let error { throw error }
      return LinkLocalHost(driver)
    }

    /// Removes the address, and stops the host. No callback is called afterwards.
    public func close() async {
      await withCheckedContinuation { continuation in
        driver.onLoop { $0.stop { continuation.resume() } }
      }
    }
  }
#endif
