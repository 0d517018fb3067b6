/** The parts of other modules that the pages show. */
declare module "@expo/app-integrity" {
  export const isSupported: boolean;
  export function generateKeyAsync(): Promise<string>;
  export function attestKeyAsync(keyId: string, challenge: string): Promise<string>;
  export function generateAssertionAsync(keyId: string, challenge: string): Promise<string>;
}

declare const __DEV__: boolean;

declare module "@react-native-async-storage/async-storage" {
  export function createAsyncStorage(name: string): {
    getItem(key: string): Promise<string | null>;
    setItem(key: string, value: string): Promise<void>;
  };
}

declare module "expo-secure-store" {
  export const AFTER_FIRST_UNLOCK: number;
  export const AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY: number;
  export interface SecureStoreOptions {
    keychainAccessible?: number;
  }
  export function getItemAsync(key: string, options?: SecureStoreOptions): Promise<string | null>;
  export function setItemAsync(
    key: string, value: string, options?: SecureStoreOptions,
  ): Promise<void>;
}

declare module "axios" {
  export interface AxiosRequestConfig {
    url?: string;
    method?: string;
    baseURL?: string;
    data?: unknown;
    headers?: { [name: string]: string };
    adapter?: string | ((config: InternalAxiosRequestConfig) => Promise<unknown>);
    responseType?: "json" | "text" | "arraybuffer" | "blob" | "stream";
    signal?: { readonly aborted: boolean };
    timeout?: number;
    validateStatus?: ((status: number) => boolean) | null;
  }
  export interface InternalAxiosRequestConfig extends AxiosRequestConfig {
    headers: { [name: string]: string };
  }
  export interface AxiosInstance {
    getUri(config?: AxiosRequestConfig): string;
    readonly interceptors: {
      readonly request: {
        use(
          fulfilled: (config: InternalAxiosRequestConfig) => InternalAxiosRequestConfig,
        ): number;
      };
    };
  }
  const axios: {
    create(config: AxiosRequestConfig): AxiosInstance;
    getAdapter(adapters: unknown): (config: InternalAxiosRequestConfig) => Promise<unknown>;
  };
  export default axios;
}
