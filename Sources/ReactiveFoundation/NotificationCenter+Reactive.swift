public import Foundation
public import Reactive

extension NotificationCenter: ReactiveExtensionsProvider {}

extension Reactive where Base: NotificationCenter {
  /// Sends the notifications that are posted from now on.
  ///
  /// They are sent on the thread that posts them. The signal doesn't end: it is released when it is
  /// neither retained nor observed.
  ///
  /// - Parameters:
  ///   - name: The name of the notifications; nil for all.
  ///   - object: The sender of the notifications, which is retained while the signal lives; nil for
  ///     all senders.
  public func notifications(
    forName name: Notification.Name?, object: AnyObject? = nil
  ) -> Signal<Notification, Never> {
    Signal { observer, lifetime in
      let send = observer.sender
      let registration = Registration(
        center: base,
        token: base.addObserver(forName: name, object: object, queue: nil) { notification in
          send(.value(notification))
        })
      lifetime.observeEnded { registration.end() }
    }
  }
}

/// An observer's place in a notification centre.
// Sendable: a centre may be used from any thread, and the token is only given back to it.
private struct Registration: @unchecked Sendable {
  let center: NotificationCenter
  let token: any NSObjectProtocol

  func end() { center.removeObserver(token) }
}
