"""Eigenvalues and eigenvectors of square matrices that need not be symmetric, one matrix at a time.

A matrix is balanced (`balancing`), reduced to Hessenberg form (`hessenberg`) and iterated to real Schur form
(`francis`), whose diagonal blocks give the eigenvalues (`blocks`); eigenvectors follow by back substitution
(`vectors`). The steps are those of LAPACK's geev, because they decide the order in which eigenvalues are found, and
NumPy's users see that order. E. Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM 1999: gebal, gehrd, lahqr, lanv2,
trevc.
"""
