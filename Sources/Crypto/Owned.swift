/// One OpenSSL object and the function that frees it, also for the targets that use OpenSSL beside
/// this one.
///
/// A user of ``pointer`` must keep the owner alive meanwhile.
@safe
package struct Owned: ~Copyable {
    package let pointer: OpaquePointer
    private let free: @convention(c) (OpaquePointer?) -> Void

    /// Takes ownership of an object. Nil if OpenSSL gave none.
    package init?(
        _ pointer: OpaquePointer?, freedBy free: @convention(c) (OpaquePointer?) -> Void
    ) {
        guard let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = pointer
        unsafe self.free = free
    }

    deinit { unsafe free(pointer) }
}
