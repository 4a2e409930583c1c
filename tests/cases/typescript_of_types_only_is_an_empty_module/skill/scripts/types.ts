export interface Named { name: string }
export type Only = 1;
