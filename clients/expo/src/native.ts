import { requireOptionalNativeModule } from "expo";
import { NativeModules, Platform } from "react-native";
import { type AppInfo, KeyError, type KeyFailure } from "sallyport-client";

/** The methods that both native modules have. */
interface Shared {
  isSupported(): Promise<boolean>;
  loadState(gateway: string): Promise<string | null>;
  saveState(gateway: string, text: string): Promise<void>;
  loadTicket(gateway: string): Promise<string | null>;
  saveTicket(gateway: string, text: string): Promise<void>;
  appInfo(): Promise<AppInfo>;
}

/** The module in Swift. */
export interface AppleModule extends Shared {
  generateKey(): Promise<string>;
  attestKey(keyId: string, challenge: string): Promise<string>;
  generateAssertion(keyId: string, clientData: string): Promise<string>;
}

/** The module in Java. */
export interface AndroidModule extends Shared {
  /** Returns the key ID, and then the certificates. */
  create(alias: string, challenge: string): Promise<readonly string[]>;
  sign(alias: string, clientData: string): Promise<string>;
  deleteKey(alias: string): Promise<void>;
}

export type NativeModule =
  | { readonly platform: "apple"; readonly module: AppleModule }
  | { readonly platform: "android"; readonly module: AndroidModule };

const NAME = "SallyportKeys";

/** The module of this platform. */
export function nativeModule(): NativeModule {
  if (Platform.OS === "android") {
    const module = NativeModules[NAME] as AndroidModule | null | undefined;
    if (module) return { platform: "android", module };
  } else {
    const module = requireOptionalNativeModule<AppleModule>(NAME);
    if (module) return { platform: "apple", module };
  }
  throw new Error(`the native module ${NAME} is missing: Expo Go has none, so make a build`);
}

const CODE = /^(transient|lost|input|unsupported|unknown):([A-Za-z0-9]+)$/;

/** The result of a call, whose failure has its kind and its name in the code. */
export async function mapped<Value>(call: Promise<Value>): Promise<Value> {
  try {
    return await call;
  } catch (error) {
    const match = CODE.exec(String((Object(error) as Record<string, unknown>)["code"]));
    throw new KeyError((match?.[1] ?? "unknown") as KeyFailure, match?.[2] ?? "other", error);
  }
}
