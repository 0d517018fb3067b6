/** The part of `expo` that the package uses. */
export declare function requireOptionalNativeModule<Module>(name: string): Module | null;
