// Products one click away: the four cases, and what the lecture notes ask. Pure.

export const examples = [
  { says: 'case1', product: 'A[I_X, J] * B[J, K] -> C[I_X, K]', mesh: 'X=4', dims: 'I=4096,J=4096,K=4096', dtype: 'bf16', on: 'h100-4' },
  { says: 'case2', product: 'X[B, D] * Y[D_X, F] -> Z[B, F]', mesh: 'X=4', dims: 'B=512,D=8192,F=8192', dtype: 'bf16', on: 'h100-4' },
  { says: 'case3', product: 'A[I, J_X] * B[J_X, K] -> C[I, K]', mesh: 'X=4', dims: 'I=1024,J=1024,K=1024', dtype: 'f32', on: 'h100-4' },
  { says: 'case4', product: 'A[I_X, J] * B[J, K_X] -> C[I, K_X]', mesh: 'X=4', dims: 'I=512,J=8192,K=8192', dtype: 'bf16', on: 'h100-4' },
  { says: 'twoAxes', product: 'A[I_X, J_Y] * B[J_Y, K] -> C[I_X, K]', mesh: 'X=4,Y=8', dims: 'I=8192,J=8192,K=8192', dtype: 'bf16', on: 'h100-8x4' },
  { says: 'megatron', product: 'X[B, D] * W[D, F_X] * V[F_X, D] -> Y[B, D]', mesh: 'X=8', dims: 'B=4096,D=8192,F=28672', dtype: 'bf16', on: 'h100-8' },
  { says: 'tpu', product: 'X[B, D] * Y[D_X, F] -> Z[B, F]', mesh: 'X=16', dims: 'B=4096,D=8192,F=28672', dtype: 'bf16', on: 'v5e-16' },
];
