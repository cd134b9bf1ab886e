public import Foundation
public import Reactive

extension NotificationCenter: ReactiveExtensionsProvider {}

extension Reactive where Base: NotificationCenter {
  /// The notifications that are posted from now on.
  ///
  /// They are sent on the thread that posts them. The signal doesn't end by itself: it goes when
  /// it is neither held nor observed.
  ///
  /// - Parameters:
  ///   - name: Which notifications; nil for all.
  ///   - object: Whose notifications, held while the signal lives; nil for those of every object.
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
