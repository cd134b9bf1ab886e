#if Messaging
  public import Messaging
  public import Reactive

  extension MessagingAccount: ReactiveExtensionsProvider {}
  extension Rooms: ReactiveExtensionsProvider {}

  /// Contacts and the account as producers. Each run has the changes from its start on, until it is interrupted or the account
  /// has ended; if a value changes again before it was sent, only the latest is. Values are sent in a task: observe
  /// them on a scheduler.
  extension Reactive where Base == MessagingAccount {
    /// Changes of contacts, of this device and others.
    public var contactUpdates: SignalProducer<ContactUpdate, Never> {
      SignalProducer(updates: { [base] in base.contactUpdates() })
    }

    /// Requests to see this account's presence, and their ends.
    public var subscriptionRequestUpdates: SignalProducer<SubscriptionRequestUpdate, Never> {
      SignalProducer(updates: { [base] in base.subscriptionRequestUpdates() })
    }

    /// Changes of the presence of contacts.
    public var presenceUpdates: SignalProducer<Presence, Never> {
      SignalProducer(updates: { [base] in base.presenceUpdates() })
    }

    /// Changes of the blocked addresses.
    public var blockUpdates: SignalProducer<BlockUpdate, Never> {
      SignalProducer(updates: { [base] in base.blockUpdates() })
    }

    /// Contacts that begin or end to write a message.
    public var chatStateUpdates: SignalProducer<ChatStateUpdate, Never> {
      SignalProducer(updates: { [base] in base.chatStateUpdates() })
    }

    /// Changes of the connection.
    public var connectionStates: SignalProducer<ConnectionState, Never> {
      SignalProducer(updates: { [base] in base.connectionStates() })
    }

    /// Changes of the states of messages that were sent from here.
    public var stateChanges: SignalProducer<MessageStateChange, Never> {
      SignalProducer(updates: { [base] in base.stateChanges() })
    }
  }

  /// Rooms as producers, under the same rules as those of the account.
  extension Reactive where Base == Rooms {
    /// Changes of rooms.
    public var updates: SignalProducer<Room, Never> {
      SignalProducer(updates: { [base] in base.updates() })
    }

    /// Changes of the occupants of all rooms.
    public var occupantUpdates: SignalProducer<OccupantUpdate, Never> {
      SignalProducer(updates: { [base] in base.occupantUpdates() })
    }
  }

  extension SignalProducer where Value: Sendable, Error == Never {
    /// A producer of changes, whose reader is created at the start of each run: none that comes later is missed.
    fileprivate init(updates makeUpdates: @escaping @Sendable () -> Updates<Value>) {
      self.init(registering: { notify in
        let updates = makeUpdates()
        let task = Task {
          for await value in updates { notify(.value(value)) }
          if !Task.isCancelled { notify(.completed) }
        }
        return AnyDisposable { task.cancel() }
      })
    }
  }
#endif
