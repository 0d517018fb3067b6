/** The part of `react-native` that the package uses. */
export declare const NativeModules: { readonly [name: string]: unknown };
export declare const Platform: { readonly OS: string };
