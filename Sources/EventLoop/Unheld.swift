/// A reference that does not retain its object: for lists from which an object removes itself
/// before it is deallocated.
@safe
struct Unheld<Object: AnyObject> {
    private let reference: Unmanaged<Object>

    init(_ object: Object) { unsafe reference = Unmanaged.passUnretained(object) }

    var object: Object { unsafe reference.takeUnretainedValue() }

    func refers(to other: Object) -> Bool {
        unsafe reference.toOpaque() == Unmanaged.passUnretained(other).toOpaque()
    }
}
